import math

import numpy as np
import pytest
import torch

from mechlearn_zoo.experiments.control.promp_corners.corners import CORNERS, Corners, paid
from mechlearn_zoo.tasks.agents.vectors import vector_env


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


def test_what_is_handed_out_is_a_copy():
    """Who writes into an observation moves nobody."""
    one, other = (Corners(torch.arange(4), torch.Generator(), limit=3) for _ in range(2))
    seen, wanted = one.reset(seed=1)[0], other.reset(seed=1)[0]
    for _ in range(4):
        assert torch.equal(seen, wanted)
        seen.fill_(7.0)
        seen, *rest = one.step(torch.full((4, 2), 0.1))
        wanted, *same = other.step(torch.full((4, 2), 0.1))
        assert all(torch.equal(a, b) for a, b in zip(rest[:3], same[:3], strict=True))


def test_positions_stay_in_float32():
    envs, face = (Corners(torch.arange(4), torch.Generator()) for _ in range(2))
    face = vector_env(face)
    envs.reset(seed=1)
    face.reset(seed=1)
    actions = torch.full((4, 2), 0.1, dtype=torch.float64)
    for _ in range(3):
        observations, rewards, *_ = envs.step(actions)
        theirs, paid_, *_ = face.step(actions.numpy())
        assert observations.dtype == rewards.dtype == torch.float32
        assert theirs.dtype == paid_.dtype == np.float32
        assert observations.tolist() == theirs.tolist()
    assert face.observation_space.contains(theirs)


def test_a_reset_without_a_seed_goes_on():
    """As gymnasium has it: a seed begins the random numbers anew, None does not."""
    face, again = (vector_env(Corners(torch.arange(4), torch.Generator().manual_seed(0))) for _ in range(2))
    first, second, third = face.reset(seed=3)[0], face.reset()[0], face.reset()[0]
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)
    assert np.array_equal(again.reset(seed=3)[0], first)
    assert np.array_equal(again.reset()[0], second)
    assert np.array_equal(face.reset(seed=3)[0], first)


@pytest.mark.usefixtures("as_installed")
def test_actions_are_a_tensor_of_finite_numbers():
    envs = Corners(torch.tensor([0]), torch.Generator())
    with pytest.raises(TypeError, match=r"`actions` should be a tensor. Found .*list"):
        envs.step([[0.1, 0.1]])
    with pytest.raises(ValueError, match=r"`actions` should be finite. Found nan at \(0, 1\)"):
        envs.step(torch.tensor([[0.1, torch.nan]]))
