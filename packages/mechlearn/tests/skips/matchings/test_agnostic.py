"""One prediction of the easiest frame, near or far, against the literal minimum."""

import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import simulators_oracles as oracles
from mechlearn.losses import BinaryCrossEntropyWithLogits, SquaredError
from mechlearn.skips import Dynamics, Greedy, TimeAgnostic, match
from mechlearn.testing import check_matching
from mechlearn.trajectories import Trajectories


def walks(lengths, seed=0):
    g = torch.Generator().manual_seed(seed)
    return Trajectories.from_list(
        [(torch.randn(n, 2, generator=g, dtype=torch.float64).cumsum(0) / 4).sigmoid() for n in lengths]
    )


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)).double()


PREFERENCES = {
    "none": None,
    "middle": lambda s: torch.exp(-(((s - 0.5) / 0.2) ** 2)),
    "not the last": lambda s: (s < 1) + 0 * s,
}
LOSSES = {
    "squared": (SquaredError(), lambda z, x: ((z - x) ** 2).mean()),
    "bce": (BinaryCrossEntropyWithLogits(), lambda z, x: (torch.log1p(torch.exp(-z.abs())) + z.clamp(min=0) - z * x).mean()),
}


@given(
    lengths=st.lists(st.integers(3, 14), min_size=1, max_size=4),
    name=st.sampled_from(sorted(PREFERENCES)),
    kind=st.sampled_from(sorted(LOSSES)),
    seed=st.integers(0, 2**20),
)
def test_it_is_the_literal_minimum(lengths, name, kind, seed):
    x, f, w = walks(lengths, seed), net(), PREFERENCES[name]
    loss, literal = LOSSES[kind]
    found = match(Dynamics(f, loss), x, TimeAgnostic(w))
    assert found.steps.tolist() == [1] * len(lengths)
    assert found.evaluations == len(lengths)
    quotients = []
    for b, own in enumerate(x):
        z = f(own[:1])[0]
        frame, quotient = oracles.time_agnostic(z, own, 0, literal, lambda s: 1.0 if w is None else float(w(torch.tensor(s))))
        assert int(found.matched[b, 0]) == frame
        assert float(found.trajectory_losses[b].detach()) == pytest.approx(quotient, rel=1e-6)
        weight = 1.0 if w is None else w(torch.tensor([frame / (len(own) - 1)], dtype=torch.float64))[0]
        quotients.append(literal(z, own[frame]) / weight)
    ours, theirs = (torch.autograd.grad(each, f[0].weight)[0] for each in (found.loss, sum(quotients) / len(quotients)))
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 0.0])
def test_onward_without_a_preference_it_is_greedy_of_the_whole_trajectory(epsilon):
    x, f = walks([9, 4, 14]), net()
    ours, theirs = (
        match(Dynamics(f, SquaredError()), x, each, teacher_forcing=epsilon) for each in (TimeAgnostic(onward=True), Greedy(13))
    )
    assert torch.equal(ours.matched, theirs.matched)
    assert torch.equal(ours.loss, theirs.loss)
    weighed = match(Dynamics(f, SquaredError()), x, TimeAgnostic(torch.ones_like, onward=True), teacher_forcing=epsilon)
    assert torch.equal(weighed.matched, theirs.matched)
    torch.testing.assert_close(weighed.loss, theirs.loss)


def test_a_preference_of_0_is_never_matched():
    x = Trajectories(torch.linspace(0, 1, 9)[None, :, None].repeat(2, 1, 1), torch.tensor([9, 6]))
    found = match(Dynamics(lambda frames: frames + 5, SquaredError()), x, TimeAgnostic(lambda s: (s < 1).double()))
    assert found.matched[:, 0].tolist() == [7, 4]


@pytest.mark.parametrize("matching", [TimeAgnostic(), TimeAgnostic(onward=True), TimeAgnostic(lambda s: 1 + s, onward=True)])
def test_it_keeps_what_every_matching_owes(matching):
    check_matching(matching)


def test_the_bottleneck_that_all_pass_is_what_is_learnt():
    """Paths differ everywhere but at one point, passed at another time by each; the last frame is known, not to be copied."""
    g = torch.Generator().manual_seed(0)
    paths = []
    for _ in range(60):
        first, second = (int(torch.randint(2, 6, (), generator=g)) for _ in range(2))
        way = torch.randn(first + second + 1, 2, generator=g) * 2
        way[first] = torch.tensor([1.0, -1.0])
        paths.append(way)
    x = Trajectories.from_list(paths)
    torch.manual_seed(0)
    f = nn.Linear(4, 2)
    dynamics = Dynamics(lambda frames, last: f(torch.cat([frames, last], dim=1)), SquaredError(), x.last())
    optimizer = torch.optim.Adam(f.parameters(), lr=0.05)
    for _ in range(40):
        found = match(dynamics, x, TimeAgnostic(lambda s: (s < 1).double()))
        optimizer.zero_grad()
        found.loss.backward()
        optimizer.step()
    made = f(torch.cat([x.first(), x.last()], dim=1))
    assert (made.mean(0) - torch.tensor([1.0, -1.0])).abs().max() < 0.15


@pytest.mark.parametrize(
    ("preference", "sentence"),
    [
        (lambda s: s[:1], r"one weight for each of 4 frames. Found \(1,\)"),
        (lambda s: -s, "finite and at least 0.* Found -1 to"),
        (torch.zeros_like, "above 0 for one of the 4 frames.* Found 0 to 0"),
        (lambda s: 1 / (s - 1), "Found"),
        (lambda s: 1.0, "Found float"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_a_preference_that_gives_no_weights_is_refused(preference, sentence):
    with pytest.raises(ValueError, match=sentence):
        match(Dynamics(net(), SquaredError()), walks([5]), TimeAgnostic(preference))


def test_a_loss_that_is_not_finite_is_said():
    with pytest.raises(FloatingPointError, match="Found none in trajectory 0"):
        match(Dynamics(lambda frames: frames * torch.inf, SquaredError()), walks([5]), TimeAgnostic(lambda s: s))


def test_it_is_one_more_matching():
    assert list(inspect.signature(TimeAgnostic).parameters) == ["preference", "onward"]
