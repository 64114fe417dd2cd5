import itertools
import math

import pytest
import torch
from torch import nn

import skips_oracles as oracles
from cpu_alone import ON_A_GPU
from mechlearn.losses import SquaredError
from mechlearn.skips import Aligned, Dynamics, Greedy, SoftAligned, SoftGreedy, match, training_step
from mechlearn.testing import check_matching
from mechlearn.trajectories import Trajectories

LENGTHS = (6, 2, 5)


def walks():
    g = torch.Generator().manual_seed(0)
    return Trajectories.from_list([torch.randn(n, 2, generator=g, dtype=torch.float64).cumsum(0) for n in LENGTHS])


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def soft(values, tau):
    """Written out, without any trick."""
    return -tau * math.log(sum(math.exp(-value / tau) for value in values))


@pytest.mark.parametrize("tau", [0.3, 2.0])
def test_the_soft_minimum_over_the_window_is_that_of_the_losses(tau):
    x, f = walks(), net()
    found = match(Dynamics(f, SquaredError()), x, SoftGreedy(3, tau), keep_predictions=True)
    hard = match(Dynamics(f, SquaredError()), x, Greedy(3))
    assert torch.equal(found.matched, hard.matched)
    for b, own in enumerate(x):
        for u, z in enumerate(found.predictions[b]):
            time = int(found.matched[b, u] - found.skips[b, u])
            window = [oracles.squared_error(z, frame).item() for frame in own[time + 1 : time + 4]]
            assert found.step_losses[b, u].item() == pytest.approx(soft(window, tau), rel=1e-10)


def path_costs(f, x, horizon, inputs):
    """The sum of losses and the number of steps of every path of a trajectory."""
    made = [x[0]]
    for _ in x[1:]:
        made.append(f(made[-1][None])[0])
    found = []
    for path in oracles.paths(len(x), horizon):
        steps = list(itertools.pairwise(path))
        predicted = [f(x[a][None])[0] if inputs == "frames" else made[u + 1] for u, (a, _) in enumerate(steps)]
        found.append(
            (sum(oracles.squared_error(z, x[b]).item() for z, (_, b) in zip(predicted, steps, strict=True)), len(steps))
        )
    return found


@pytest.mark.parametrize("inputs", ["frames", "predictions"])
@pytest.mark.parametrize("tau", [0.4, 3.0])
@torch.no_grad()
def test_the_soft_minimum_over_paths_is_that_of_the_enumeration(inputs, tau):
    x, f = walks(), net()
    found = match(Dynamics(f, SquaredError()), x, SoftAligned(3, tau, inputs, "sum"))
    mean = match(Dynamics(f, SquaredError()), x, SoftAligned(3, tau, inputs, "mean"))
    for b, own in enumerate(x):
        costs = path_costs(f, own, 3, inputs)
        steps = min(costs)[1]
        assert found.trajectory_losses[b].item() == pytest.approx(soft([cost for cost, _ in costs], tau) / steps, rel=1e-9)
        by_steps = {k: soft([cost for cost, count in costs if count == k], tau) / k for k in {count for _, count in costs}}
        assert mean.trajectory_losses[b].item() == pytest.approx(soft(by_steps.values(), tau), rel=1e-9)


@pytest.mark.parametrize(
    ("warm", "hard"),
    [
        (lambda tau: SoftGreedy(3, tau), Greedy(3)),
        *[
            (lambda tau, i=inputs, c=cost: SoftAligned(3, tau, i, c), Aligned(3, inputs, cost))
            for inputs in ("frames", "predictions")
            for cost in ("mean", "sum")
        ],
    ],
)
def test_they_tend_to_the_hard_ones_as_the_temperature_falls(warm, hard):
    x, f = walks(), net()
    parameters = list(f.parameters())
    wanted = match(Dynamics(f, SquaredError()), x, hard)
    gradient = torch.cat([g.flatten() for g in torch.autograd.grad(wanted.loss, parameters)])
    gaps = []
    for tau in (1.0, 1e-1, 1e-2, 1e-4, 1e-7):
        found = match(Dynamics(f, SquaredError()), x, warm(tau))
        assert found.loss <= wanted.loss + 1e-12
        assert torch.equal(found.matched, wanted.matched)
        ours = torch.cat([g.flatten() for g in torch.autograd.grad(found.loss, parameters)])
        gaps.append((float((wanted.loss - found.loss).detach()), float((ours - gradient).norm() / gradient.norm())))
    noise = 1e-14 if ON_A_GPU else 0.0  # which adds losses up in any order; nothing is left of the last gaps but that
    assert all(later <= sooner + noise for (sooner, _), (later, _) in itertools.pairwise(gaps))
    assert gaps[-1][0] < 1e-6
    assert gaps[-1][1] < 1e-6 < gaps[0][1]


@pytest.mark.parametrize("matching", [SoftGreedy(3, 0.5), SoftAligned(3, 0.5), SoftAligned(2, 0.5, "predictions", "sum")])
def test_gradients_are_those_of_finite_differences(matching):
    x, f = walks(), net()

    def loss(weight):
        return match(
            Dynamics(lambda z: torch.func.functional_call(f, {"2.weight": weight}, z), SquaredError()), x, matching
        ).loss

    assert torch.autograd.gradcheck(loss, f[2].weight.detach().clone().requires_grad_(), eps=1e-6, atol=1e-7)


def test_an_exploring_step_costs_the_loss_of_its_frame():
    x, f = walks(), net()
    generator = [torch.Generator().manual_seed(3) for _ in range(2)]
    found = match(Dynamics(f, SquaredError()), x, SoftGreedy(3, 0.5, 1.0), generator=generator[0])
    hard = match(Dynamics(f, SquaredError()), x, Greedy(3, 1.0), generator=generator[1])
    torch.testing.assert_close(found.step_losses, hard.step_losses)


def test_they_keep_every_rule():
    check_matching(SoftGreedy(4, 0.2, 0.3))
    check_matching(SoftAligned(4, 0.2), teacher_forcing=(1.0,))
    check_matching(SoftAligned(4, 0.2, "predictions", "sum"), teacher_forcing=(1.0,))


def mixed(matching):
    return match(Dynamics(net(), SquaredError()), walks(), matching, teacher_forcing=0.0)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: SoftGreedy(0, 1.0), ValueError, "`horizon` should be at least 1"),
        (lambda: SoftGreedy(3, 0.0), ValueError, "`temperature` should be positive and finite. Found 0.0. The hard"),
        (lambda: SoftAligned(3, -1.0), ValueError, "`temperature` should be positive"),
        (
            lambda: match(Dynamics(net(), SquaredError()), walks(), SoftAligned(3, 1.0), teacher_forcing=0.0),
            ValueError,
            "Leave it",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def barred(prediction, frames):
    """A loss of infinity at frames beyond 50, whose derivative is infinite, too."""
    return (prediction - frames).square().sum(-1) / (frames[..., 0] < 50)


def beyond(*places):
    """Walks, some frames of which nothing is to be matched with."""
    frames = [own.clone() for own in walks()]
    for b, t in places:
        frames[b][t, 0] = 100.0
    return Trajectories.from_list(frames)


SOFT = [
    SoftGreedy(3, 0.5),
    *(SoftAligned(3, 0.5, inputs, cost) for inputs in ("frames", "predictions") for cost in ("mean", "sum")),
]


@pytest.mark.parametrize("matching", SOFT, ids=str)
def test_an_infinite_candidate_has_no_part_in_the_gradient(matching):
    f = net()
    found = match(Dynamics(f, barred), beyond((0, 3), (2, 1)), matching)
    # With a loss as large as a number can be in the place of infinity, whose weight in a soft minimum is 0.
    walled = match(
        Dynamics(f, lambda z, x: torch.where(x[..., 0] < 50, (z - x).square().sum(-1), 1e140)), beyond((0, 3), (2, 1)), matching
    )
    assert torch.equal(found.loss, walled.loss)
    for own, wanted in zip(*(torch.autograd.grad(one.loss, list(f.parameters())) for one in (found, walled)), strict=True):
        torch.testing.assert_close(own, wanted)
    before = [parameter.detach().clone() for parameter in f.parameters()]
    training_step(Dynamics(f, barred), beyond((0, 3), (2, 1)), matching, torch.optim.SGD(f.parameters(), 0.1))
    assert all(bool(parameter.isfinite().all()) for parameter in f.parameters())
    assert not all(torch.equal(a, b) for a, b in zip(before, f.parameters(), strict=True))


@pytest.mark.parametrize("matching", SOFT, ids=str)
def test_where_nothing_finite_is_left_the_step_is_refused(matching):
    f = net()
    before = [parameter.detach().clone() for parameter in f.parameters()]
    with pytest.raises(FloatingPointError, match="finite"):
        training_step(Dynamics(f, barred), beyond((1, 1)), matching, torch.optim.SGD(f.parameters(), 0.1))
    assert all(torch.equal(a, b) for a, b in zip(before, f.parameters(), strict=True))


@pytest.mark.parametrize("factor", [30.0, 1e6])
@pytest.mark.parametrize("inputs", ["frames", "predictions"])
@torch.no_grad()
def test_losses_of_thousands_are_no_walls(inputs, factor):
    """What a step costs that is not possible has to be beyond whatever a possible one costs."""
    f = net()
    x = Trajectories.from_list([factor * own for own in walks()])
    tau = factor**2
    found = match(Dynamics(f, SquaredError()), x, SoftAligned(3, tau, inputs, "sum"))
    for b, own in enumerate(x):
        costs = path_costs(f, own, 3, inputs)
        assert min(costs)[0] > 1000
        wanted = soft([cost for cost, _ in costs], tau) / min(costs)[1]
        assert found.trajectory_losses[b].item() == pytest.approx(wanted, rel=1e-9)
