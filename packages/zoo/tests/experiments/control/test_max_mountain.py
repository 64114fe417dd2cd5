from dataclasses import replace

import pytest
import torch
from torch import Generator

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.max_mountain import EXPERIMENT
from mechlearn_zoo.experiments.control.max_mountain.run import METHODS, run
from mechlearn_zoo.experiments.control.max_mountain.world import World, cell
from mechlearn_zoo.learners.planning import Ensemble

SMALL = replace(EXPERIMENT.presets["quick"].config, steps=8, first=4, every=4, horizon=2, fitted=2)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    long = Rows({**row, "step": 1000} if row.get("step") == 8 else row for row in rows)
    assert all(judge(claim, long, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["coverage"]
    assert set(rows.where(kind="visits").values("method")) == set(METHODS)


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_states_and_actions_are_scaled():
    world = World("Pendulum-v1", 0)
    world.reset()
    state, solved, over = world.step(torch.ones(1))
    assert (world.states, world.actions) == (3, 1)
    assert state.abs().max() <= 1
    assert not solved
    assert not over


def test_cells_are_rows_of_the_second_number():
    assert [cell(torch.tensor(state), 4) for state in ([-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [0.1, 0.1])] == [0, 3, 12, 10]


@pytest.mark.parametrize(("name", "found"), [("CartPole-v1", "observation"), ("MountainCar-v0", "action")])
def test_a_task_of_other_spaces_is_refused(name, found):
    with pytest.raises(ValueError, match=rf"bounded Box of one axis as its {found} space\. Found .* in {name}\. Wrap"):
        World(name, 0)


def test_an_untrained_ensemble_stays_as_drawn():
    ensemble = Ensemble(2, 1, Generator().manual_seed(0))
    before = [values.clone() for values in ensemble.stack.parameters()]
    states = torch.rand(10, 2)
    ensemble.fit(states, states[:, :1], 2 * states, 0, Generator())
    assert all(torch.equal(*pair) for pair in zip(before, ensemble.stack.parameters(), strict=True))
    assert torch.allclose(ensemble.scale, states.std(0))
