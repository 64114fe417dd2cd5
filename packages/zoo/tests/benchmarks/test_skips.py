import importlib.util
import json

import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.following import literal
from mechlearn_zoo_benchmarks.measuring.memory import in_fresh_process

from claimlab.cli.bench import KEYS, load

SMALL = ("--quick", "--sizes", "36x40", "--repeats", "2", "--turn", "0")


def test_json_is_one_object_with_the_agreed_keys(mechlearn):
    status, out, _ = mechlearn("bench", "skips", *SMALL, "--memory", "false", "--json")
    found = json.loads(out)
    assert (status, found["bench"]) == (0, "skips")
    assert all(set(KEYS) <= set(row) for row in found["rows"])
    workloads = {row["workload"] for row in found["rows"]}
    larger = "training step, 64x64 RGB, batch 16"
    assert workloads == {"matching, 36x40", "training step, 36x40", larger, "vectors", "alignment", "roll-out"}
    for workload in ("vectors", "alignment", "roll-out"):
        base, *others = (row for row in found["rows"] if row["workload"] == workload)
        peerless = workload == "alignment" and importlib.util.find_spec("tslearn") is None
        assert (base["ratio"], base["note"], len(others)) == (1.0, "the denominator", 1 if peerless else 2)
    for workload in workloads - {"vectors", "alignment", "roll-out"}:
        base, *others = (row for row in found["rows"] if row["workload"] == workload)
        assert (base["method"], base["ratio"], base["exact"]) == ("literal gather", 1.0, None)
        assert sum(row["method"].startswith("mechlearn") for row in others) == 2
        assert all(row["exact"] is (None if row["method"] == "network alone" else True) for row in others)
        assert all(row["low"] <= row["ratio"] <= row["high"] for row in others)


def test_memory_is_measured_in_a_fresh_process():
    quick = load("skips", "mechlearn_zoo").presets["quick"]
    settings = {name: getattr(quick, name) for name in ("batch", "horizon", "dataset", "threads", "seed", "small")}
    arguments = {"size": "36x40", "method": "mechlearn, frames in bytes", **settings}
    assert in_fresh_process("skips", arguments) > 0


def test_the_literal_ways_agree():
    g = torch.Generator().manual_seed(0)
    x, z = torch.rand(3, 9, 2, 4, 4, generator=g), torch.randn(2, 2, 4, 4, generator=g)
    arguments = (x, z, [0, 2], [1, 4], [9, 8, 7], 5)
    found = [ways(*arguments) for ways in (literal.gather, literal.gather_one_by_one, literal.loop)]
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[0], found[2])
    assert found[0].isinf().sum(1).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(("--sizes", "36x41"), "Found '36x41'. Did you mean 36x40?"), (("--horizon", "0"), "horizon should be at least 1")],
)
def test_bad_usage_is_one_sentence_and_status_2(mechlearn, words, sentence):
    status, out, said = mechlearn("bench", "skips", *words)
    assert (status, out) == (2, "")
    assert sentence in said
