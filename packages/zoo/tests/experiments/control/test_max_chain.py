from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.max_chain import EXPERIMENT
from mechlearn_zoo.experiments.control.max_chain.explorers import METHODS
from mechlearn_zoo.experiments.control.max_chain.run import closed_form, explore, run

SMALL = replace(EXPERIMENT.presets["quick"].config, lengths=(5,), episodes=4, watched=2, draws=2000)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    long = Rows({**row, "length": 40} if row["kind"] == "final" else row for row in rows)
    assert all(judge(claim, long, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["progress", "trap"]
    assert set(rows.where(kind="final").values("method")) == set(METHODS)


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_planning_sees_a_short_chain_at_once():
    *_, last = explore("max", 6, replace(SMALL, seed=1000, episodes=6))
    assert last["complete"]
    assert last["episodes"] <= 4


def test_the_closed_form_is_sampled():
    (row,) = closed_form(replace(SMALL, draws=20_000, seed=3))
    assert row["errors"] < 4.5
