import math

import pytest
import torch

from craik.tasks.agents.corners import CORNERS, Corners, paid
from craik.tasks.agents.vectors import vector_env


def literal(before, after, goal, quiet):
    """The rule of the published code, one point at a time."""
    if abs(after[0]) + abs(after[1]) < quiet:
        return 0.0
    all_ = [math.dist(after, corner) for corner in CORNERS.tolist()]
    return math.dist(before, CORNERS[goal].tolist()) - all_[goal] if all_[goal] == min(all_) else 0.0


def test_what_is_paid():
    generator = torch.Generator().manual_seed(0)
    before, step = 2 * torch.rand(2, 200, 2, generator=generator, dtype=torch.float64) - 1
    goals = torch.randint(4, (200,), generator=generator)
    found = paid(before, before + 0.2 * step, goals)
    for b in range(200):
        expected = literal(before[b].tolist(), (before + 0.2 * step)[b].tolist(), int(goals[b]), 0.5)
        assert float(found[b]) == pytest.approx(expected, abs=1e-12)
    assert 0.1 < float((found != 0).double().mean()) < 0.5


def test_an_episode():
    envs = Corners(torch.arange(4), torch.Generator(), limit=12)
    envs.reset(seed=1)
    total = torch.zeros(4)
    for step in range(12):
        observations, rewards, terminated, truncated, infos = envs.step(CORNERS.sign())  # cut to 0.2
        total += rewards
        assert bool(truncated.all()) == (step == 11) == ("final_obs" in infos)
        assert not terminated.any()
    assert ((total > 1.8) & (total < 2.9)).all()
    assert (observations.abs() <= 0.2).all()
    assert vector_env(envs).action_space.shape == (4, 2)


def test_bad_input():
    with pytest.raises(ValueError, match=r"between 0 and 3. Found \[4\]"):
        Corners(torch.tensor([4]), torch.Generator())
    with pytest.raises(ValueError, match=r"shape \(1, 2\). Found \(2,\)"):
        Corners(torch.tensor([0]), torch.Generator()).step(torch.zeros(2))
