import dataclasses

import pytest

from claimlab.running.rowfiles import packed
from claimlab.running.runfiles import keep, read_run
from claimlab.running.verification.verify import compare, verify
from fake_copies import edit, folder_of, forget


def test_a_witness_makes_the_first_seed_again_and_joins_the_record(record, package, tmp_path):
    run = record()
    rows = (run.folder / "rows.jsonl.gz").read_bytes()
    (found,) = verify(tmp_path / "results", package)
    (witness,) = read_run(run.folder).confirmed
    assert (found.witness, found.fault, found.before) == (witness, "", False)
    assert (witness.seeds, witness.rows, witness.outcome) == ((0,), (3, 3), "equal")
    assert (witness.difference, witness.where) == (0.0, "")
    assert witness.code.source == run.made[0].code.source
    assert (run.folder / "rows.jsonl.gz").read_bytes() == rows


def test_what_the_present_source_confirmed_is_skipped(record, package, tmp_path):
    run = record()
    list(verify(tmp_path / "results", package))
    (again,) = verify(tmp_path / "results", package)
    assert (again.before, len(read_run(run.folder).confirmed)) == (True, 1)
    edit(package, "counter/claims.py", "value above 1", "value above 2")
    (further,) = verify(tmp_path / "results", package, seeds=2)
    assert (further.before, further.witness.seeds, further.witness.rows) == (False, (0, 1), (6, 6))
    assert len(read_run(run.folder).confirmed) == 2


def test_rows_that_the_present_source_no_longer_makes_differ(record, package, tmp_path):
    record()
    edit(package, "steps.py", "2 * x", "2.000001 * x")
    (found,) = verify(tmp_path / "results", package)
    assert found.witness.outcome == "differs"
    assert found.witness.difference == pytest.approx(5e-7, rel=0.1)
    assert found.witness.where.startswith("seed 0, row 1: value 1.0000005, recorded 1.0")


def test_another_kind_of_processor_may_differ_within_the_tolerance(record, package, tmp_path):
    run = record(preset="paper", steps=3)
    machine = dataclasses.replace(run.made[0].machine, processor="another")
    keep(dataclasses.replace(run, made=tuple(dataclasses.replace(one, machine=machine) for one in run.made)))
    edit(package, "steps.py", "2 * x", "2.01 * x")  # half of the preset's tolerance
    (near,) = verify(tmp_path / "results", package)
    assert (near.witness.outcome, near.witness.seeds) == ("within tolerance", (0,))
    edit(package, "steps.py", "2.01 * x", "2.1 * x")
    (far,) = verify(tmp_path / "results", package)
    assert far.witness.outcome == "differs"


def test_a_long_one_is_compared_as_far_as_it_has_come(record, package, tmp_path):
    run = record(steps=4, seed=1)
    edit(
        package,
        "counter/run.py",
        "        value = config.seed",
        "        time.sleep(600 * (step == 2))\n        value = config.seed",
    )
    (found,) = verify(tmp_path / "results", package, minutes=0.15)
    assert (found.witness.seeds, found.witness.rows, found.witness.outcome) == ((1,), (2, 4), "equal")
    assert run.folder == found.run.folder


def test_a_witness_that_was_stopped_goes_on_with_more_time(record, package, tmp_path):
    run = record(steps=3)
    list(verify(tmp_path / "results", package))
    (whole,) = read_run(run.folder).confirmed
    stopped = dataclasses.replace(whole, rows=(1, 3), minutes=2.0)
    for minutes, before in ((1.0, True), (2.0, True), (3.0, False), (None, False)):
        keep(dataclasses.replace(run, confirmed=(stopped,)))
        (found,) = verify(tmp_path / "results", package, minutes=minutes)
        assert (found.before, found.witness.rows) == (before, (1, 3) if before else (3, 3))


def test_what_differed_on_another_machine_is_tried_on_this_one(record, package, tmp_path):
    run = record()
    list(verify(tmp_path / "results", package))
    (here,) = read_run(run.folder).confirmed
    for processor, before in ((here.machine.processor, True), ("another (family 1, model 2), AVX2", False)):
        machine = dataclasses.replace(here.machine, processor=processor)
        keep(dataclasses.replace(run, confirmed=(dataclasses.replace(here, outcome="differs", machine=machine),)))
        (found,) = verify(tmp_path / "results", package)
        assert (found.before, found.witness.outcome) == (before, "differs" if before else "equal")


def test_a_record_that_may_not_be_written_does_not_end_the_others(record, package, tmp_path, monkeypatch):
    first, second = record(), record("drunkard")

    def full(run):
        if run.folder == first.folder:
            raise OSError(28, "No space left on device")
        keep(run)

    monkeypatch.setattr("claimlab.running.verification.verify.keep", full)
    faulty, fine = verify(tmp_path / "results", package)
    assert (faulty.witness, fine.run.folder, fine.witness.outcome) == (None, second.folder, "equal")
    assert f"No space left on device {first.folder}" in faulty.fault


def test_a_witness_goes_with_the_rows_that_it_saw(record, package, tmp_path):
    run = record()
    list(verify(tmp_path / "results", package))
    seeds = {seed: rows for seed, rows in run.read().seeds.items() if seed == 1}
    (run.folder / "rows.jsonl.gz").write_bytes(packed(seeds))
    assert record().confirmed == ()


def test_of_seeds_set_apart_each_keeps_its_witness(record, package, tmp_path):
    run = record()
    list(verify(tmp_path / "results", package))  # of seed 0
    whose = [dataclasses.replace(run.made[0], seeds=(seed,)) for seed in (0, 1)]
    other = dataclasses.replace(whose[0], code=dataclasses.replace(whose[0].code, source="0" * 64))
    run = read_run(run.folder)
    third = dataclasses.replace(run.confirmed[0].code, source="1" * 64)  # one of the present source would vouch for seed 0
    one = dataclasses.replace(run.confirmed[0], code=third)
    both = dataclasses.replace(one, seeds=(0, 1))
    keep(dataclasses.replace(run, made=(other, whose[1]), confirmed=(one, both)))
    after = record()
    assert after.confirmed == ()
    (apart,) = (read_run(path.parent) for path in run.folder.glob("older/*/run.json"))
    assert [one.seeds for one in apart.confirmed] == [(0,)]


def test_what_cannot_be_made_again_is_said_and_the_others_go_on(record, package, tmp_path):
    record("drunkard")
    run = record()
    edit(package, "counter/run.py", "    odd = ", "    raise OSError('no recording')\n    odd = ")
    faulty, fine = verify(tmp_path / "results", package)
    assert (faulty.witness, fine.witness.outcome) == (None, "equal")
    assert "Found: no recording" in faulty.fault
    assert read_run(run.folder).confirmed == ()
    (folder_of(package) / "walks" / "counter" / "__init__.py").unlink()
    forget(package)
    assert "Found 'counter-walk'" in next(verify(tmp_path / "results", package)).fault


ROW = {"seed": 0, "seconds": 1.0, "step": 1, "loss": 0.5, "method": "mean", "ok": True, "note": None}


@pytest.mark.parametrize(
    ("change", "difference", "where"),
    [
        ({"seconds": 9.0}, 0.0, ""),
        ({"loss": 0.25}, 0.5, "loss 0.25, recorded 0.5"),
        ({"step": 2}, None, "step 2, recorded 1"),
        ({"step": 1.0}, None, "step 1.0, recorded 1"),
        ({"method": "mask"}, None, "method 'mask'"),
        ({"ok": False}, None, "ok False"),
        ({"ok": 1}, None, "ok 1, recorded True"),
        ({"note": 0.0}, None, "note 0.0"),
        ({"more": 1.0}, 0.0, ""),
    ],
)
def test_rows_are_compared_but_for_their_seconds(change, difference, where):
    found = compare({0: [ROW, ROW]}, {0: [ROW, {**ROW, **change}]}, [0])
    assert found.difference == difference
    assert found.where.startswith(f"seed 0, row 1: {where}" if where else "")
    assert found.compared == 2
    assert found.outcome(0.0) == ("equal" if not where else "differs")
    assert found.outcome(0.6) == ("equal" if not where else "differs" if difference is None else "within tolerance")


def test_every_recorded_column_must_be_made():
    made = {key: value for key, value in ROW.items() if key != "loss"}
    assert compare({0: [ROW]}, {0: [made]}, [0]).where == "seed 0, row 0: loss is only recorded"


def test_a_whole_seed_must_have_all_its_rows_and_no_more():
    assert compare({0: [ROW, ROW]}, {0: [ROW]}, []).outcome(0.0) == "equal"
    assert compare({0: [ROW, ROW]}, {0: [ROW]}, [0]).where == "seed 0: 1 rows, recorded 2"
    assert compare({0: [ROW]}, {0: [ROW, ROW]}, []).outcome(1.0) == "differs"


def test_a_record_of_another_package_is_a_fault_of_it_alone(record, tmp_path, package):
    run = record()
    gone = dataclasses.replace(run, recipe=dataclasses.replace(run.recipe, package="nobody_has.it"))
    other = run.folder.with_name("another")
    other.mkdir()
    keep(dataclasses.replace(gone, folder=other))
    found = sorted(verify(tmp_path / "results", package), key=lambda one: one.fault)
    assert found[0].witness.outcome == "equal"
    assert found[1].fault.startswith("A record's package should be the one that you name. Found one of nobody_has.it, another.")
