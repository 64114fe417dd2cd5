from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.mazes.crar import EXPERIMENT as HOST
from mechlearn_zoo.experiments.mazes.crar.rooms import ARMS, identified, make_walk, run
from mechlearn_zoo.tasks.finite.grids import two_rooms

EXPERIMENT = HOST.at("rooms")
SMALL = replace(EXPERIMENT.presets["rooms"].config, size=6, walked=100, updates=3, batch=8)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "rooms").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["rooms", "identified"]
    assert rows.where(kind="final").values("arm") == [*ARMS, *ARMS]
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_a_walk_is_the_grids():
    grid = two_rooms(6)
    walk = make_walk(grid, SMALL)
    assert torch.equal(grid.next[walk.states, walk.actions], walk.after)
    assert walk.pictures.eq(1).sum(1).eq(1).all()
    assert len(walk.pictures.unique(dim=0)) == len(grid)


def test_exact_models_are_identified():
    """A state is its cell, and the model moves it as the grid does."""
    grid = two_rooms(6)

    def tau(xa):
        states = torch.cdist(xa[:, :2], grid.cells.float()).argmin(1)
        after = grid.next[states, xa[:, 2:].argmax(1)]
        return (grid.cells[after] - grid.cells[states]).float()

    actions = torch.randint(4, (5, 50), generator=torch.Generator().manual_seed(0))
    assert identified(tau, grid.cells.float(), grid, torch.zeros(50, dtype=torch.long), actions) == 1
