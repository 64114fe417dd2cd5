"""Sums over skips, and what roll-outs add up, against the literal loop."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import simulators_oracles as oracles
from mechlearn.losses import BinaryCrossEntropyWithLogits, SquaredError
from mechlearn.skips import (
    Actions,
    Aligned,
    Cumulants,
    Dynamics,
    Fixed,
    Greedy,
    Sampled,
    SoftAligned,
    SoftGreedy,
    match,
    rollout,
    training_step,
)
from mechlearn.trajectories import Trajectories
from walks import walks


def rewards_of(lengths, seed=0):
    """With NaN as padding: it must never be looked at."""
    g = torch.Generator().manual_seed(seed + 1)
    found = torch.randn(len(lengths), max(lengths) + 1, generator=g, dtype=torch.float64)
    for row, n in zip(found, lengths, strict=True):
        row[n - 1 :] = torch.nan
    return Trajectories(found, torch.tensor(lengths) - 1)


class Simulator(nn.Module):
    """From a frame to a frame, and to what is gained on the way."""

    def __init__(self, width=1, flat=False):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(2, 2, generator=g, dtype=torch.float64))
        self.gain = nn.Parameter(torch.randn(2, width, generator=g, dtype=torch.float64))
        self.flat = flat

    def forward(self, frames, *given):
        gains = frames @ self.gain
        return torch.tanh(frames @ self.weight) * 2, gains[:, 0] if self.flat else gains


def squared(z, x):
    return ((z - x) ** 2).mean()


@given(
    lengths=st.lists(st.integers(2, 11), min_size=1, max_size=4),
    horizon=st.integers(1, 6),
    gamma=st.sampled_from([1.0, 0.9, 0.0]),
    weight=st.sampled_from([0.0, 1.0, 2.5]),
    epsilon=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**20),
)
def test_sums_and_losses_equal_the_literal_loop(lengths, horizon, gamma, weight, epsilon, seed):
    x, rewards, model = walks(lengths, seed), rewards_of(lengths, seed), Simulator(1 if gamma == 1 else 2)
    dynamics = Dynamics(model, SquaredError(), cumulants=Cumulants(rewards, gamma, weight=weight))
    draws = torch.Generator().manual_seed(seed)
    expected = [
        oracles.simulator(
            lambda frame, _: (*(part[0] for part in model(frame[None])), None),
            own,
            squared,
            gains.tolist(),
            (horizon, 1, gamma, weight, epsilon),
            None,
            torch.rand(n - 1, 3, dtype=torch.float64, generator=draws).tolist() if epsilon == 0.5 else None,
        )
        for own, gains, n in zip(x, rewards, lengths, strict=True)
    ]
    found = match(
        dynamics,
        x,
        Greedy(horizon),
        teacher_forcing=epsilon,
        generator=torch.Generator().manual_seed(seed),
        keep_predictions=True,
    )
    for b, one in enumerate(expected):
        steps = int(found.steps[b])
        assert found.matched[b, :steps].tolist() == one.frames
        torch.testing.assert_close(
            found.cumulants[b, :steps, 0], torch.tensor(one.sums, dtype=torch.float64), rtol=1e-12, atol=1e-13
        )
        assert (found.cumulants[b, steps:] == 0).all()
        torch.testing.assert_close(found.trajectory_losses[b], one.loss, rtol=1e-12, atol=1e-13)
    if gamma < 1:
        skips = torch.where(found.skips > 0, gamma ** found.skips.double(), 0.0)
        torch.testing.assert_close(found.cumulants[:, :, 1], skips, rtol=1e-13, atol=0)
    literal = torch.autograd.grad(
        sum(one.loss for one in expected) / len(expected), list(model.parameters()), allow_unused=True
    )
    ours = torch.autograd.grad(found.loss, list(model.parameters()))
    for one, other in zip(ours, literal, strict=True):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other, rtol=1e-10, atol=1e-11)
    assert found.predictions.frame_shape == (2,)


MATCHINGS = (
    Greedy(4), Greedy(4, 0.5), Fixed(2), SoftGreedy(4, 0.1), Aligned(4), Aligned(4, "predictions"), SoftAligned(4, 0.1),
)  # fmt: skip


@pytest.mark.parametrize("matching", MATCHINGS)
def test_whatever_matches_what_is_matched_stays_the_same(matching):
    lengths = [9, 3, 12]
    x, rewards, model = walks(lengths), rewards_of(lengths), Simulator(flat=True)
    alone, beside = (
        match(each, x, matching, generator=torch.Generator().manual_seed(0), keep_predictions=True)
        for each in (
            Dynamics(lambda frames: model(frames)[0], SquaredError()),
            Dynamics(model, SquaredError(), cumulants=Cumulants(rewards, weight=0.0)),
        )
    )
    assert torch.equal(alone.matched, beside.matched)
    assert torch.equal(alone.loss, beside.loss)
    assert torch.equal(alone.step_losses, beside.step_losses)
    assert torch.equal(alone.predictions.frames, beside.predictions.frames)
    assert alone.evaluations == beside.evaluations
    assert alone.cumulants is None
    for b, own in enumerate(rewards):
        at = [0, *beside.matched[b, : int(beside.steps[b])].tolist()]
        expected = [oracles.gained(own.tolist(), *pair, 1.0) for pair in itertools.pairwise(at)]
        gained = beside.cumulants[b, : len(expected), 0]
        torch.testing.assert_close(gained, torch.tensor(expected, dtype=torch.float64, device=gained.device))
        torch.testing.assert_close(beside.cumulants[b].sum(), own.sum().to(gained.device))


def test_what_the_cumulants_cost_is_added_whatever_matches():
    lengths = [9, 3, 12]
    x, rewards, model = walks(lengths), rewards_of(lengths), Simulator()
    for matching in (Greedy(4), Fixed(2), Aligned(4), SoftAligned(4, 0.1)):
        without, found = (
            match(Dynamics(model, SquaredError(), cumulants=Cumulants(rewards, weight=w)), x, matching) for w in (0.0, 1.0)
        )
        for b, own in enumerate(x):
            steps = int(found.steps[b])
            at = torch.tensor([0, *found.matched[b, : steps - 1].tolist()])
            errors = (model(own[at])[1][:, 0] - found.cumulants[b, :steps, 0].to(own.device)) ** 2
            torch.testing.assert_close(found.step_losses[b, :steps], (without.step_losses[b, :steps] + errors).detach())


@given(gamma=st.sampled_from([1.0, 0.9]), steps=st.integers(1, 6), seed=st.integers(0, 99))
def test_a_roll_out_adds_them_up(gamma, steps, seed):
    model = Simulator(1 if gamma == 1 else 2)
    first = walks([2, 2, 2], seed).first()
    found = rollout(
        Dynamics(model, SquaredError(), cumulants=Cumulants(None, gamma)),
        first,
        max_steps=steps,
        stop=lambda frames: frames[:, 0] > 1,
    )
    for b in range(3):
        length = int(found.trajectories.lengths[b])
        made = model(found.trajectories.frames[b, : length - 1])[1].tolist()
        sums, discounts = oracles.added(made, gamma)
        taken = found.gained.sums.shape[1]
        rest = taken - len(sums)
        torch.testing.assert_close(found.gained.sums[b], torch.tensor(sums + sums[-1:] * rest, dtype=torch.float64))
        torch.testing.assert_close(
            found.gained.discounts[b], torch.tensor(discounts + discounts[-1:] * rest, dtype=torch.float64)
        )


def test_a_clock_is_a_cumulant_of_ones():
    x = walks([7, 5])
    ones = Trajectories(torch.ones(2, 6, dtype=torch.float64), x.lengths - 1)
    found = match(Dynamics(Simulator(), SquaredError(), cumulants=Cumulants(ones)), x, Greedy(3))
    assert torch.equal(found.cumulants[:, :, 0].long(), found.skips)


def test_values_of_a_reward_process_are_learnt():
    """A ring of 6 states; a discounted roll-out gives its exact values although the model is not told how far it skips."""
    states, gamma = torch.eye(6), 0.8
    x = Trajectories.from_list([states[torch.arange(s, s + 9) % 6] for s in range(6)])
    rewards = Trajectories.from_list([(torch.arange(s, s + 8) % 6 == 5).float() for s in range(6)])

    class Ring(nn.Module):
        def __init__(self):
            super().__init__()
            g = torch.Generator().manual_seed(0)
            self.frames = nn.Parameter(torch.randn(6, 6, generator=g) * 0.1)
            self.gains = nn.Parameter(torch.zeros(6, 2))

        def forward(self, frames):
            return frames @ self.frames, frames @ self.gains

    model = Ring()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(120):
        training_step(Dynamics(model, SquaredError(), cumulants=Cumulants(rewards, gamma)), x, Fixed(4), optimizer)
    made = rollout(Dynamics(model, SquaredError(), cumulants=Cumulants(None, gamma)), states, max_steps=30)
    true = [gamma ** (5 - s) / (1 - gamma**6) for s in range(6)]
    torch.testing.assert_close(made.gained.sums[:, -1], torch.tensor(true, dtype=torch.float64), atol=0.02, rtol=0)


def test_actions_sampling_and_pictures_go_along():
    g = torch.Generator().manual_seed(0)
    x = Trajectories(torch.rand(2, 6, 1, 4, 3, generator=g), torch.tensor([6, 4]))
    rewards = Trajectories(torch.rand(2, 5, generator=g), torch.tensor([5, 3]))
    net = nn.Conv2d(1, 1, 3, padding=1)

    def model(frames, actions):
        return net(frames), actions.flatten(1).sum(1)

    dynamics = Dynamics(
        model,
        BinaryCrossEntropyWithLogits(),
        Actions(torch.rand(2, 6, 1, generator=g), window=3),
        feedback=Sampled(lambda z, noise: (noise < z.sigmoid()).float(), "uniform"),
        cumulants=Cumulants(rewards),
    )
    found = match(dynamics, x, Greedy(3), teacher_forcing=0.0, generator=g, keep_predictions=True)
    assert found.predictions.frame_shape == (1, 4, 3)
    found.loss.backward()
    assert net.weight.grad.abs().sum() > 0


X, REWARDS = walks([5, 4]), rewards_of([5, 4])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Cumulants(X), r"`values` should hold one number for each transition.*Found frames of shape \(2,\)"),
        (lambda: Cumulants(REWARDS, 1.5), r"`discount` should lie in \[0, 1\].*Found 1.5"),
        (lambda: Cumulants(REWARDS, weight=-1.0), "`weight` should be finite and at least 0. Found -1.0"),
        (
            lambda: match(Dynamics(Simulator(), SquaredError(), cumulants=Cumulants(X_LONG)), X, Greedy(2)),
            r"one fewer than frames: \[4, 3\]. Found \[5, 4\]. Choose their rows",
        ),
        (lambda: match(Dynamics(Simulator(), SquaredError(), cumulants=Cumulants(REWARDS)[[0]]), X, Greedy(2)), r"Found \[4\]"),
        (
            lambda: match(Dynamics(Simulator(), SquaredError(), cumulants=Cumulants(None)), X, Greedy(2)),
            "should hold values where trajectories are matched. Found None",
        ),
        (
            lambda: match(Dynamics(Simulator(2), SquaredError(), cumulants=Cumulants(REWARDS)), X, Greedy(2)),
            r"the sum of cumulants over its skip for each of 2 frames, shape \(2, 1\) or \(2,\). Found \(2, 2\)",
        ),
        (
            lambda: match(Dynamics(Simulator(), SquaredError(), cumulants=Cumulants(REWARDS, 0.9)), X, Greedy(2)),
            r"and the discount of it for each of 2 frames, shape \(2, 2\). Found \(2, 1\)",
        ),
    ],
)
def test_mistakes_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


X_LONG = Trajectories(torch.zeros(2, 5, dtype=torch.float64), torch.tensor([5, 4]))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Cumulants(torch.zeros(2, 4)), r"Found Tensor. Rewards \(batch, time\) become such by Trajectories\(rewards"),
        (lambda: Cumulants(REWARDS, loss=3), "`loss` should be a function of predictions and targets"),
        (
            lambda: Dynamics(Simulator(), SquaredError(), cumulants=REWARDS),
            "`cumulants` should be Cumulants.* Found Trajectories",
        ),
        (
            lambda: match(Dynamics(nn.Identity(), SquaredError(), cumulants=Cumulants(REWARDS)), X, Greedy(2)),
            r"should return \(prediction, cumulants\), as its dynamics have cumulants. Found Tensor",
        ),
        (lambda: match(Dynamics(Simulator(), SquaredError()), X, Greedy(2)), "should return one tensor of floats. Found tuple"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_another_type_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


def test_what_has_no_weight_costs_nothing_whatever_it_is():
    x = walks([7, 5])
    gains = torch.full((), torch.inf, requires_grad=True)

    def model(frames):
        return frames / 2, gains.expand(len(frames), 1)

    found = match(Dynamics(model, SquaredError(), cumulants=Cumulants.clock(x, weight=0.0)), x, Greedy(3))
    without = match(Dynamics(lambda frames: frames / 2, SquaredError()), x, Greedy(3))
    assert torch.equal(found.loss.detach(), without.loss)
    assert torch.equal(found.cumulants[:, :, 0].long(), found.skips)
    found.loss.backward()
    assert gains.grad == 0
