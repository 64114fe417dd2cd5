import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import skips_oracles as oracles
from mechlearn import losses
from mechlearn.skips import Aligned, Dynamics, Greedy, match
from mechlearn.trajectories import Trajectories

inputs_and_cost = {"inputs": st.sampled_from(["frames", "predictions"]), "cost": st.sampled_from(["mean", "sum"])}


def net(frames):
    return torch.tanh(frames @ WEIGHT)


WEIGHT = torch.randn(3, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64, requires_grad=True)


def literal(x, horizon, inputs, cost):
    """Predictions one by one, costs one by one, the path by enumeration; its mean loss and its frames."""
    made, given_frame = [], x[0]
    for t in range(len(x) - 1):
        made.append(net((x[t] if inputs == "frames" else given_frame)[None])[0])
        given_frame = made[-1]
    costs = [[float(oracles.squared_error(z, frame).detach()) for frame in x] for z in made]
    path = oracles.best_path(costs, horizon, inputs, cost)
    steps = [
        oracles.squared_error(made[a if inputs == "frames" else u], x[b]) for u, (a, b) in enumerate(itertools.pairwise(path))
    ]
    return sum(steps) / len(steps), list(path[1:])


@given(
    lengths=st.lists(st.integers(2, 8), min_size=1, max_size=3),
    horizon=st.integers(1, 5),
    seed=st.integers(0, 999),
    **inputs_and_cost,
)
def test_loss_gradient_and_frames_are_those_of_the_enumeration(lengths, horizon, seed, inputs, cost):
    g = torch.Generator().manual_seed(seed)
    x = [torch.randn(n, 3, generator=g, dtype=torch.float64).cumsum(0) / 2 for n in lengths]
    found = match(Dynamics(net, losses.SquaredError()), Trajectories.from_list(x), Aligned(horizon, inputs, cost))
    expected = [literal(each, horizon, inputs, cost) for each in x]
    assert [row[row >= 0].tolist() for row in found.matched] == [frames for _, frames in expected]
    loss = sum(one for one, _ in expected) / len(expected)
    torch.testing.assert_close(found.loss, loss, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(torch.autograd.grad(found.loss, WEIGHT), torch.autograd.grad(loss, WEIGHT))
    assert found.evaluations == sum(n - 1 for n in lengths)
    assert found.skips.sum(1).tolist() == [n - 1 for n in lengths]


@pytest.mark.parametrize("seed", range(4))
def test_no_greedy_path_is_better(seed):
    x = Trajectories(
        torch.randn(5, 12, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), torch.full((5,), 12)
    )
    best = match(Dynamics(net, losses.SquaredError()), x, Aligned(5))
    greedy = match(Dynamics(net, losses.SquaredError()), x, Greedy(5))
    assert (best.trajectory_losses <= greedy.trajectory_losses + 1e-12).all()
    assert (best.trajectory_losses < greedy.trajectory_losses - 1e-6).any()


def test_nan_is_refused():
    x = Trajectories.from_list([torch.rand(4, 3)])
    with pytest.raises(FloatingPointError, match="Found NaN in trajectory 0"):
        match(Dynamics(lambda frames: frames * float("nan"), losses.SquaredError()), x, Aligned(2))


@pytest.mark.parametrize("inputs", ["frames", "predictions"])
def test_losses_that_are_all_infinite_are_refused(inputs):
    x = Trajectories.from_list([torch.rand(10, 3), torch.rand(7, 3)])
    with pytest.raises(FloatingPointError, match=r"best alignment should be finite. Found inf in trajectory 0"):
        match(Dynamics(lambda frames: frames * 0 + 1e30, losses.SquaredError()), x, Aligned(3, inputs))


@pytest.mark.parametrize("inputs", ["frames", "predictions"])
def test_a_frame_of_infinite_loss_is_avoided(inputs):
    def forbidding(prediction, target):
        return torch.where(target[:, 0] == 2, torch.inf, (prediction - target).square().mean(1))

    x = Trajectories.from_list([torch.arange(5.0)[:, None]])
    found = match(Dynamics(lambda frames: frames + 1, forbidding), x, Aligned(3, inputs))
    assert found.loss.isfinite()
    assert 2 not in found.matched[0].tolist()
    assert found.skips.max() <= 3
