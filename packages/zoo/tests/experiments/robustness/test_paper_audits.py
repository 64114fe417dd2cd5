"""The paper presets' own settings for a step or two: what only they switch on runs, with finite numbers."""

import math
from dataclasses import replace

import pytest

from mechlearn_zoo.experiments.robustness import poisoning, reprogramming, transfer

CASES = {
    "transfer": (transfer, {"pairs": ("0-1",), "steps": 1, "draws": 2}),
    "poisoning": (poisoning, {"pairs": ("0-1",), "steps": 1, "train": 24, "shares": (0.2,)}),
    "reprogramming": (reprogramming, {"letters": 64, "host_steps": 1, "steps": 2, "batch": 8}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_few_steps_of_the_paper_preset(name):
    module, cut = CASES[name]
    rows = list(module.EXPERIMENT.run(replace(module.EXPERIMENT.presets["paper"].config, **cut)))
    numbers = [value for row in rows for value in row.values() if isinstance(value, float)]
    assert numbers
    assert all(map(math.isfinite, numbers))
    if name == "transfer":
        assert {row["norm"] for row in rows if row["kind"] == "pair"} == {"2", "inf"}
        assert [row for row in rows if row["kind"] == "labelling"]  # forests
