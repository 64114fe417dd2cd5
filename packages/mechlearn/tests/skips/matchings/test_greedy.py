"""What `Greedy` has beside the thesis's: a scale, ties, a lower bound; and windows of small frames gathered at once."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import skips_oracles as oracles
from cpu_alone import ON_A_GPU
from mechlearn import losses
from mechlearn.skips import Dynamics, Greedy, displacement, match
from mechlearn.skips.matchings import greedy, relative
from mechlearn.testing import check_matching
from mechlearn.trajectories import Trajectories

KINDS = {
    "squared": (losses.SquaredError(), oracles.squared_error),
    "bce": (losses.BinaryCrossEntropyWithLogits(), oracles.bce_with_logits),
    "absolute": (lambda z, x: (z - x).abs().flatten(1).mean(1), oracles.absolute_error),
}


def slow_walks(lengths, seed, dtype=torch.float64):
    """Often at rest, and on a coarse grid, so that windows have exact ties."""
    g = torch.Generator().manual_seed(seed)
    return Trajectories.from_list(
        [((torch.rand(n, 2, generator=g) < 0.4).cumsum(0) / 16).clamp(max=1).to(dtype) for n in lengths]
    )


def net(dtype=torch.float64):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)


@given(
    lengths=st.lists(st.integers(2, 14), min_size=1, max_size=5),
    horizon=st.integers(1, 9),
    nearest=st.integers(1, 9),
    ties=st.sampled_from(["first", "last"]),
    scaled=st.booleans(),
    mu=st.sampled_from([0.0, 0.4, 1.0]),
    epsilon=st.sampled_from([0.0, 0.5, 1.0]),
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 2**20),
    large=st.booleans(),
)
def test_every_choice_equals_the_literal_loop(lengths, horizon, nearest, ties, scaled, mu, epsilon, kind, seed, large):
    nearest = min(nearest, horizon)
    loss, literal = KINDS[kind]
    x, f = slow_walks(lengths, seed), net()
    scale = [0.5 + k % 3 + k * 0.3 for k in range(horizon)] if scaled else None
    feed = torch.sigmoid if kind == "bce" else nn.Identity()
    needed = mu > 0 or 0 < epsilon < 1
    literal_g = torch.Generator().manual_seed(seed)
    expected = [
        oracles.greedy(
            lambda frame, _: f(frame[None])[0],
            own,
            literal,
            feed,
            (horizon, nearest, scale, ties == "last"),
            (mu, epsilon),
            oracles.uniforms_of(n, literal_g) if needed else None,
        )
        for own, n in zip(x, lengths, strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        if large:  # as with frames of many numbers: products where there is no scale, else a window at a time
            patch.setattr(greedy, "fits", lambda *_: False)
            patch.setattr("mechlearn.skips.matchings.exact.SMALL", 0)
        found = match(
            Dynamics(f, loss),
            x,
            Greedy(horizon, mu, scale, ties, nearest),
            teacher_forcing=epsilon,
            generator=torch.Generator().manual_seed(seed) if needed else None,
        )
    assert [row[row > 0].tolist() for row in found.skips] == [one.skips for one in expected]
    total = sum(one.loss for one in expected) / len(expected)
    torch.testing.assert_close(found.loss, total, rtol=1e-12, atol=1e-14)
    ours, theirs = (torch.autograd.grad(each, list(f.parameters()), retain_graph=True) for each in (found.loss, total))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("frame", [(), (3,), (5, 7)])
@pytest.mark.parametrize("loss", [losses.SquaredError(), losses.BinaryCrossEntropyWithLogits(), losses.SquaredError("sum")])
def test_at_scale_1_nothing_changes_in_a_bit(dtype, frame, loss):
    """Nor does it where windows of small frames are gathered at once: losses and gradients are those of the ranking."""
    g = torch.Generator().manual_seed(1)
    x = Trajectories(torch.rand(6, 40, *frame, generator=g).to(dtype), torch.tensor([40, 12, 33, 2, 25, 40]))
    weight = torch.randn(math.prod(frame), math.prod(frame), generator=g).to(dtype).requires_grad_()

    def model(frames):
        return (frames.reshape(len(frames), -1) @ weight).reshape(frames.shape)

    found = []
    for scale, together in ((None, False), (None, True), ([1.0] * 9, True), ([1.0] * 9, False)):
        with pytest.MonkeyPatch.context() as patch:
            if not together:
                patch.setattr(greedy, "fits", lambda *_: False)
                patch.setattr("mechlearn.skips.matchings.exact.SMALL", 0)
            generator = torch.Generator().manual_seed(2)
            one = match(Dynamics(model, loss), x, Greedy(9, 0.2, scale), teacher_forcing=0.6, generator=generator)
        found.append((one, torch.autograd.grad(one.loss, weight)[0]))
    for one, gradient in found[1:]:
        assert torch.equal(one.matched, found[0][0].matched)
        assert torch.equal(one.step_losses, found[0][0].step_losses)
        if ON_A_GPU:  # which adds a trajectory's losses up in any order, each time another
            rounding = 1e-12 if dtype == torch.float64 else 1e-5
            torch.testing.assert_close(one.loss, found[0][0].loss, rtol=rounding, atol=0)
            torch.testing.assert_close(gradient, found[0][1], rtol=0, atol=rounding * float(found[0][1].abs().max()))
        else:
            assert torch.equal(one.loss, found[0][0].loss)
            assert torch.equal(gradient, found[0][1])


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4).filter(lambda n: max(n) > 1), seed=st.integers(0, 2**20))
def test_displacement_is_the_mean_over_all_pairs(lengths, seed):
    g = torch.Generator().manual_seed(seed)
    x = Trajectories.from_list([torch.randn(n, 2, 2, generator=g).cumsum(0) for n in lengths])
    x.frames[~x.mask] = 1e3  # padding has no part in it
    found = displacement(x, 5)
    for k in range(1, min(5, max(lengths) - 1) + 1):
        pairs = [((own[t] - own[t + k]) ** 2).mean().item() for own in x for t in range(len(own) - k)]
        assert found[k - 1].item() == pytest.approx(sum(pairs) / len(pairs), rel=1e-5)
    assert len(set(found[max(lengths) - 2 :].tolist())) <= 1
    assert torch.equal(found, displacement(x, 5, losses.SquaredError()))


def test_relative_skips_are_longer_where_the_loss_grows_with_distance():
    g = torch.Generator().manual_seed(0)
    x = Trajectories(torch.randn(20, 30, 3, generator=g).cumsum(1), torch.full((20,), 30))
    still = Dynamics(lambda frames: frames + 1.0, losses.SquaredError())
    plain = match(still, x, Greedy(8)).mean_skip
    assert plain < match(still, x, Greedy(8, scale=displacement(x, 8))).mean_skip


def test_ties_at_rest_go_to_the_last():
    x = Trajectories(torch.zeros(1, 9, 2), torch.tensor([9]))
    rest = Dynamics(lambda frames: frames, losses.SquaredError())
    assert match(rest, x, Greedy(4)).skips.tolist() == [[1] * 8]
    assert match(rest, x, Greedy(4, ties="last")).skips.tolist() == [[4, 4]]
    pictures = Trajectories(torch.zeros(1, 9, 3, 40, 40), torch.tensor([9]))
    assert match(rest, pictures, Greedy(4, ties="last")).skips.tolist() == [[4, 4]]


def test_the_published_windows_lower_bound():
    x = slow_walks([12, 5, 2], 0)
    found = match(Dynamics(net(), losses.SquaredError()), x, Greedy(5, nearest=3))
    for row, steps in zip(found.skips, found.steps, strict=True):
        assert all(3 <= skip <= 5 for skip in row[: steps - 1])  # the last may be shorter


@pytest.mark.parametrize("matching", [Greedy(4, scale=[1, 2, 3, 4]), Greedy(5, 0.3, ties="last"), Greedy(4, 0.2, nearest=2)])
def test_they_keep_every_rule(matching):
    check_matching(matching)


def test_matchings_are_values():
    assert Greedy(2, scale=torch.tensor([1.0, 2.0])) == Greedy(2, scale=[1, 2])
    assert len({Greedy(2, scale=[1.0, 2.0]), Greedy(2, scale=(1, 2)), Greedy(2)}) == 2


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"scale": [1.0, 2.0]}, ValueError, r"`scale` should hold 3 positive numbers.*Found \[1.0, 2.0\].*displacement\("),
        ({"scale": [1.0, 0.0, 2.0]}, ValueError, "3 positive numbers"),
        ({"scale": [1.0, math.nan, 2.0]}, ValueError, "3 positive numbers"),
        ({"scale": torch.ones(3, 1)}, ValueError, r"Found \(3, 1\)"),
        ({"scale": "abc"}, TypeError, "`scale` should be a list of 3 numbers. Found 'abc' of type str"),
        ({"ties": "any"}, ValueError, '`ties` should be "first" or "last"'),
        ({"nearest": 0}, ValueError, "`nearest` should be at least 1"),
        ({"nearest": 4}, ValueError, "`nearest` should be at most the horizon, 3. Found 4"),
        ({"nearest": 1.5}, TypeError, "`nearest` should be a whole number"),
    ],
)
def test_what_cannot_be_is_refused(changes, error, sentence):
    made = object.__new__(Greedy)  # without its annotations' checks, which only tests have
    for name, value in ({"horizon": 3, "exploration": 0.0, "scale": None, "ties": "first", "nearest": 1} | changes).items():
        object.__setattr__(made, name, value)
    with pytest.raises(error, match=sentence):
        made.__post_init__()


def test_a_large_world_is_looked_at_in_parts_with_the_same_result(monkeypatch):
    x = Trajectories.from_list([torch.randn(n, 5, 3, generator=torch.Generator().manual_seed(n)) for n in (9, 4, 12)])
    whole, sizes = displacement(x, 12), []

    def loss(start, end):
        sizes.append(len(start))
        return losses.SquaredError()(start, end)

    monkeypatch.setattr(relative, "_NUMBERS", 100)
    assert torch.equal(displacement(x, 12, loss), whole)
    assert max(sizes) == 100 // 15


def test_a_world_without_displacement_has_no_scale():
    with pytest.raises(ValueError, match=r"Every displacement should be positive.*Found 0.0 for 1 frames ahead"):
        displacement(Trajectories(torch.zeros(2, 4, 1), torch.tensor([4, 3])), 2)
    with pytest.raises(ValueError, match="measured over 2 frames"):
        displacement(Trajectories(torch.zeros(2, 4, 1), torch.tensor([1, 1])), 2)


def test_small_windows_are_gathered_once_for_all():
    calls = []

    def loss(z, x):
        calls.append(len(z))
        return (z - x).square().flatten(1).mean(1)

    x = slow_walks([9] * 6, 0)
    found = match(Dynamics(net(), loss), x, Greedy(4))
    steps = found.skips.shape[1]
    assert len(calls) == 2 * steps  # of each step's windows, and of its matches
    assert calls[:2] == [6 * 4, 6]


class Absolute(losses.SquaredError):
    """Changes the values of a loss of ours, and says nothing of its ranking."""

    def elements(self, prediction, target):
        return (prediction - target).abs()


@pytest.mark.parametrize("numbers", [4, 5000])
@pytest.mark.parametrize("scale", [None, (1.0, 1.0)])
def test_a_loss_made_of_one_of_ours_is_matched_by_its_own_values(numbers, scale):
    frames = torch.zeros(1, 3, numbers)
    frames[0, 1] = 0.5  # everywhere a half: nearer in squares, farther in absolute values
    frames[0, 2, : numbers // 4] = 1.5
    found = match(Dynamics(torch.zeros_like, Absolute()), Trajectories(frames, torch.tensor([3])), Greedy(2, scale=scale))
    assert found.matched.tolist() == [[2]]
    squared = match(Dynamics(torch.zeros_like, losses.SquaredError()), Trajectories(frames, torch.tensor([3])), Greedy(2))
    assert squared.matched[0, 0] == 1


@pytest.mark.parametrize("numbers", [3, 5000])
@pytest.mark.parametrize("at", [2.0, 3.0, 4.0])
@pytest.mark.parametrize("ties", ["first", "last"])
def test_a_loss_that_is_nan_on_one_frame_is_refused_wherever_it_stands(numbers, at, ties):
    def loss(prediction, target):
        values = (prediction - target).abs().flatten(1).mean(1)
        return torch.where(target[:, 0] == at, torch.nan, values)

    frames = (torch.arange(5.0)[None, :, None] + 1).repeat(1, 1, numbers)
    with pytest.raises(FloatingPointError, match=r"Every loss should be finite\. Found nan in trajectory 0 of the batch"):
        match(Dynamics(lambda x: x + 1.6, loss), Trajectories(frames, torch.tensor([5])), Greedy(4, ties=ties))


def test_a_loss_is_never_shown_padding():
    def loss(z, x):
        return torch.nn.functional.cross_entropy(z, x[:, 0].long(), reduction="none")

    loss.prediction_shape = lambda _: (3,)
    frames = torch.tensor([[[0], [1], [2], [1]], [[0], [1], [7], [7]]])  # there is no class 7
    dynamics = Dynamics(nn.Linear(1, 3), loss)
    found = match(dynamics, Trajectories(frames, torch.tensor([4, 2])), Greedy(2))
    other = match(dynamics, Trajectories(frames.clamp(max=2), torch.tensor([4, 2])), Greedy(2))
    assert torch.equal(found.step_losses, other.step_losses)
