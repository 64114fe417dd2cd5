from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Greedy, from_minari, match


def episodes(like=lambda observations: observations, spare=0):
    """The shape that Minari documents: T + 1 observations, T of everything else."""
    g = np.random.default_rng(0)
    return [
        SimpleNamespace(
            id=b,
            observations=like(g.normal(size=(steps + 1, 3))),
            actions=g.normal(size=(steps + spare, 2)).astype(np.float32),
            rewards=np.arange(float(steps)),
            terminations=np.arange(steps) == (steps - 1 if b else steps),
            truncations=np.arange(steps) == (steps if b else steps - 1),
            infos={},
        )
        for b, steps in enumerate((5, 3))
    ]


def test_episodes_come_with_their_actions_and_rewards():
    found = from_minari(iter(episodes()), window=4, dtype=torch.float32)
    assert found.trajectories.lengths.tolist() == [6, 4]
    assert found.trajectories.dtype == torch.float32
    assert found.actions.lengths.tolist() == [5, 3]
    assert found.actions.window == 4
    assert found.rewards.values().tolist() == [[0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 0.0, 0.0]]
    assert found.terminated.tolist() == [False, True]
    dynamics = Dynamics(lambda x, a: x + a.sum((1, 2))[:, None], SquaredError(), found.actions)
    assert match(dynamics, found.trajectories, Greedy(4)).loss.isfinite()


def test_observations_by_name():
    found = from_minari(episodes(lambda seen: {"goal": seen * 0, "observation": seen}), key="observation")
    assert torch.equal(found.trajectories.frames, from_minari(episodes()).trajectories.frames)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="Found 6 observations, 6 actions and 5 rewards in episode 0"):
        from_minari(episodes(spare=1))
    with pytest.raises(TypeError, match=r"an attribute `actions`.*at position 0"):
        from_minari([SimpleNamespace(observations=np.zeros((3, 2)))])


def test_the_real_data_set():
    minari = pytest.importorskip("minari")
    assert hasattr(minari.MinariDataset, "iterate_episodes")
