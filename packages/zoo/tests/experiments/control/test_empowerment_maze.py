from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.empowerment_maze import EXPERIMENT
from mechlearn_zoo.experiments.control.empowerment_maze.run import run

SMALL = replace(EXPERIMENT.presets["quick"].config, size=9, room=7, noise=(0.0, 0.2), ahead=1, steps=3, horizons=(2, 6))


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    verdicts = {claim.id: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    assert all(one.measured is not None for one in verdicts.values())
    assert verdicts["empowerment-maze.formula"].verdict == "holds so far"
    assert verdicts["empowerment-maze.sensor"].verdict == "holds so far"
    assert list(EXPERIMENT.figures(rows)) == ["maps", "noise"]


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="odd"):
        replace(SMALL, size=8)
