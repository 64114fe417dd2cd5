import pytest
import torch
from torch import Generator

from mechlearn_zoo.experiments.mazes.minigrid.rooms import Rooms
from mechlearn_zoo.methods.control import collect


@pytest.mark.extra("paper", "minigrid")
def test_a_roll_out_has_the_rooms_ends():
    """MiniGrid cuts an episode of two rooms after 40 steps; a random agent is cut, and its last observation is kept."""
    world = Rooms("MiniGrid-MultiRoom-N2-S4-v0", 3)
    assert world.actions == 7

    def act(observations, generator):
        return torch.randint(3, (3,), generator=generator), torch.full((3,), 1 / 3).log()

    rollout = collect(world, act, 45, Generator().manual_seed(0))
    assert rollout.observations.shape == (46, 3, 147)
    assert bool(((rollout.observations >= 0) & (rollout.observations <= 1.1)).all())
    assert int((rollout.terminated | rollout.truncated).sum()) == 3
    assert rollout.cuts == len(rollout.final_observations if rollout.final_observations is not None else ())
    assert world.cells.shape == (3,)


@pytest.mark.extra("paper", "minigrid")
def test_a_count_that_is_none():
    with pytest.raises(ValueError, match="count"):
        Rooms("MiniGrid-MultiRoom-N2-S4-v0", 0)
