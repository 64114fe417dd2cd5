from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.mazes.minigrid import EXPERIMENT
from mechlearn_zoo.experiments.mazes.minigrid.run import METHODS, fresh, run

SMALL = replace(EXPERIMENT.presets["quick"].config, envs=2, steps=24, rollouts=5)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


@pytest.mark.extra("paper", "minigrid")
def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["rooms"]
    assert len(rows) == 2 * 5 * len(METHODS)
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1


@pytest.mark.extra("paper", "minigrid")
def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


@pytest.mark.extra("paper", "minigrid")
def test_the_paper_preset_s_rooms_are_acted_in():
    config = replace(EXPERIMENT.presets["paper"].config, envs=2, steps=4, rollouts=5)
    found = Rows(run(config))
    assert found.values("method")[-1] == "inverse"
    assert all(0 <= share <= 1 for share in found["reached"])


def test_what_is_new_is_that_of_an_episode():
    cells = torch.tensor([[0], [1], [0], [5], [1], [5], [6]])
    over = torch.tensor([[False], [False], [True], [False], [False], [False]])
    assert fresh(cells, over)[:, 0].tolist() == [1, 0, 0, 1, 0, 1]
