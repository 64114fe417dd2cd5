from mechlearn_zoo_benchmarks.entrants.masks.targets import TARGETS, judged
from mechlearn_zoo_benchmarks.entrants.masks.workloads import WORKLOADS


def row(method, ratio, memory, workload="mlp-34"):
    return {"workload": workload, "method": method, "ratio": ratio, "memory_ratio": memory, "note": "a note"}


PLAIN = row("plain backprop", 1.0, 1.0)


def test_every_workload_has_a_target():
    assert list(TARGETS) == list(WORKLOADS)


def test_ours_are_judged_and_peers_are_left_alone():
    peer = row("running sums", 1.1, 0.2)
    plain, ours, tiles, same = judged([PLAIN, row("mechlearn", 1.12, 1.31), row("mechlearn (tiles)", 0.9, 0.3), peer])
    assert (plain, same) == (PLAIN, peer)
    assert (ours["meets_time"], ours["meets_memory"], ours["fastest"]) == (True, False, False)
    assert ours["note"] == "a note; time target 1.12 met, memory target 1.3 missed, behind running sums (1.1)"
    assert (tiles["meets_time"], tiles["meets_memory"], tiles["fastest"]) == (True, True, True)
    assert tiles["note"].endswith("before running sums (1.1)")


def test_small_networks_are_judged_beside_the_loop_of_the_same_run():
    loop = row("DomainBed", 3.0, 1.0, "linear-10 3x30")
    ours = [row("mechlearn", ratio, 1.0, "linear-10 3x30") | {"seconds_plain": 1e-4} for ratio in (3.59, 3.61)]
    assert [one["meets_time"] for one in judged([*ours, loop])[:2]] == [True, False]  # 1.1 * 3 + 30 / 100
    assert judged([row("mechlearn", 4.3, 1.0, "linear-10 3x30") | {"seconds_plain": 1e-4}])[0]["meets_time"] is False


def test_what_was_not_measured_is_not_judged():
    alone, refused = judged([row("mechlearn", 1.2, None), row("mechlearn (compiled)", None, None)])
    assert (alone["meets_time"], alone["meets_memory"], alone["fastest"]) == (False, None, None)
    assert "meets_time" not in refused
    unknown = judged([row("mechlearn", 1.2, 1.0, "another"), PLAIN])[0]
    assert (unknown["meets_time"], unknown["note"]) == (None, "a note")
