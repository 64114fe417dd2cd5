import itertools

import pytest
import torch

from control_finite_oracles import discounted_return
from mechlearn.trajectories.finite import FiniteMDP
from mechlearn_zoo.tasks.finite.grids import open_grid
from mechlearn_zoo.tasks.finite.returns import sampled_returns


def line(slip=0.2):
    """Three cells in a row; the right one pays and ends."""
    return open_grid(1, 3).mdp({(0, 2): 1.0}, (0, 0), 0.9, slip)


def draw(count=400, frames=3, horizon=200, seed=0, process=None):
    process = line() if process is None else process
    return sampled_returns(process, process.uniform(), count, frames, horizon, torch.Generator().manual_seed(seed))


def test_returns_are_literal_discounted_sums():
    process = line()
    found = draw(count=50, frames=40, horizon=40)
    for b in range(50):
        assert float(found.returns[b]) == pytest.approx(discounted_return(found.rewards[b].tolist(), 0.9), abs=1e-12)
        states = [int(found.states[b]), *found.visited[b].tolist()]
        for t, (before, after) in enumerate(itertools.pairwise(states)):
            if before < 0:
                assert (after, float(found.rewards[b, t])) == (-1, 0.0)
            elif after >= 0:
                assert float(process.transitions[before, :, after].max()) > 0
                assert float(found.rewards[b, t]) in process.rewards[before].tolist()


def test_their_mean_is_the_exact_value():
    process = line()
    found, values = draw(count=20_000), process.values(process.uniform())
    for state in range(3):
        some = found.returns[found.states == state]
        assert float(some.mean() - values[state]) == pytest.approx(0, abs=5 * float(some.std()) / len(some) ** 0.5)


def test_frames_are_one_hot_with_the_reward():
    found = draw(count=30)
    frames = found.frames(3)
    assert frames.shape == (30, 3, 4)
    assert torch.equal(frames[..., :3].sum(-1), (found.visited >= 0).float())
    assert torch.equal(frames[..., :3].argmax(-1)[found.visited >= 0], found.visited[found.visited >= 0])
    torch.testing.assert_close(frames[..., 3], found.rewards.float())


def test_the_same_seed_gives_the_same_episodes():
    assert all(torch.equal(a, b) for a, b in zip(draw(), draw(), strict=True))
    assert not torch.equal(draw().returns, draw(seed=1).returns)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"count": 0}, "`count`"), ({"frames": 0}, "`frames`"), ({"frames": 5, "horizon": 4}, "`horizon`.*frames are taken")],
)
def test_what_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        draw(**changes)
    two = FiniteMDP(line().transitions.expand(2, 3, 4, 3), line().rewards.expand(2, 3, 4), line().start.expand(2, 3), 0.9)
    with pytest.raises(ValueError, match="takes one process"):
        draw(process=two)


@pytest.mark.usefixtures("as_installed")
def test_wrong_types_are_refused():
    process = line()
    with pytest.raises(TypeError, match="FiniteMDP"):
        sampled_returns("a grid", process.uniform(), 3, 1, 1, torch.Generator())
    with pytest.raises(TypeError, match="Generator"):
        sampled_returns(process, process.uniform(), 3, 1, 1, 7)
