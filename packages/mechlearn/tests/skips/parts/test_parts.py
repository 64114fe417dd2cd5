"""Parts of a frame matched at their own distances, and rolled out side by side, against literal loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import simulators_oracles as oracles
import skips_oracles
from mechlearn.losses import GaussianNLL, SquaredError
from mechlearn.skips import (
    Aligned,
    Cumulants,
    Dynamics,
    Fixed,
    Greedy,
    Part,
    Parts,
    Sampled,
    SoftGreedy,
    match,
    match_parts,
    rollout,
    rollout_parts,
)
from mechlearn.skips.contexts import Actions
from mechlearn.skips.simulators.memory import Memory
from mechlearn.trajectories import Trajectories

ELEMENTS = {"a": (2, 0), "b": (1,), "c": (4, 3)}


def walks(lengths, seed=0, size=5):
    g = torch.Generator().manual_seed(seed)
    return Trajectories.from_list([torch.randn(n, size, generator=g, dtype=torch.float64).cumsum(0) / 2 for n in lengths])


class Process(nn.Module):
    """From some numbers, and others beside them, to as many and to a duration."""

    def __init__(self, size, others, seed, timed=True):
        super().__init__()
        g = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(size + others, size + 1, generator=g, dtype=torch.float64) / 2)
        self.timed = timed

    def forward(self, own, *others):
        out = torch.cat([own, *others], dim=1) @ self.weight
        made = out[:, :-1].tanh() * 2
        return (made, 3 * out[:, -1].abs()) if self.timed else made


def parts_of(sees, timed=True, cumulants=None):
    models = {
        name: Process(len(own), 5 - len(own) if sees == "all" else 0, k, timed)
        for k, (name, own) in enumerate(ELEMENTS.items())
    }
    found = {name: Part(own, Dynamics(models[name], SquaredError(), cumulants=cumulants)) for name, own in ELEMENTS.items()}
    return Parts(found, sees), models


@settings(max_examples=20)
@given(
    lengths=st.lists(st.integers(2, 10), min_size=1, max_size=4),
    horizon=st.integers(1, 5),
    sees=st.sampled_from(["own", "all"]),
    epsilon=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 2**20),
)
def test_each_part_is_matched_by_itself(lengths, horizon, sees, epsilon, seed):
    x = walks(lengths, seed)
    parts, models = parts_of(sees, timed=False)
    found = match_parts(parts, x, Greedy(horizon), teacher_forcing=epsilon)
    losses = []
    for name, own in ELEMENTS.items():
        rest = [e for e in range(5) if e not in own]
        for b, whole in enumerate(x):
            f = lambda z, t: models[name](z[None], *([whole[t, rest][None]] if sees == "all" else []))[0]  # noqa: B023, E731
            expected = skips_oracles.algorithm_1(
                f, whole[:, list(own)], skips_oracles.squared_error, lambda z: z, horizon, 0.0, epsilon, None
            )
            one = found.parts[name]
            assert one.skips[b, : int(one.steps[b])].tolist() == expected.skips
            torch.testing.assert_close(one.trajectory_losses[b], expected.loss, rtol=1e-12, atol=1e-13)
            losses.append(expected.loss)
    torch.testing.assert_close(found.loss, sum(losses) / len(losses), rtol=1e-12, atol=1e-13)
    assert found.evaluations == sum(each.evaluations for each in found.parts.values())


@pytest.mark.parametrize("matching", [Greedy(4), Greedy(4, 0.5), Fixed(2), SoftGreedy(4, 0.1), Aligned(4)])
@pytest.mark.parametrize("sees", ["own", "all"])
def test_one_part_of_everything_is_the_whole_frame(matching, sees):
    x, model = walks([9, 4, 12]), Process(5, 0, 0, timed=False)
    dynamics = Dynamics(model, SquaredError())
    ours = match_parts(
        Parts({"all": Part(range(5), dynamics)}, sees),
        x,
        matching,
        generator=torch.Generator().manual_seed(0),
        keep_predictions=True,
    )
    theirs = match(dynamics, x, matching, generator=torch.Generator().manual_seed(0), keep_predictions=True)
    assert torch.equal(ours.loss, theirs.loss)
    assert torch.equal(ours.parts["all"].matched, theirs.matched)
    assert torch.equal(ours.parts["all"].predictions.frames, theirs.predictions.frames)
    grads = [torch.autograd.grad(each.loss, model.weight)[0] for each in (ours, theirs)]
    assert torch.equal(*grads)


def test_a_matching_of_its_own_for_each_part():
    x = walks([9, 4])
    parts, _ = parts_of("own", timed=False)
    found = match_parts(parts, x, {"a": Fixed(1), "b": Fixed(3), "c": Greedy(2)})
    assert [int(found.parts[name].skips.max()) for name in "abc"][:2] == [1, 3]


@given(
    sees=st.sampled_from(["own", "all"]),
    between=st.sampled_from(["linear", "hold"]),
    count=st.integers(2, 12),
    seed=st.integers(0, 2**20),
)
def test_a_roll_out_side_by_side_equals_the_literal_loop(sees, between, count, seed):
    first = walks([2, 2, 2], seed).first()
    parts, models = parts_of(sees, cumulants=Cumulants(None))
    found = rollout_parts(parts, first, frames=count, between=between)

    def single(model):
        def f(*given):
            made, duration = model(*(each[None] for each in given))
            return made[0].detach(), float(duration[0].detach())

        return f

    evaluations = 0
    for b in range(3):
        expected = oracles.parts_rolled(
            [single(models[name]) for name in ELEMENTS],
            list(ELEMENTS.values()),
            first[b],
            count,
            (sees == "all", between == "linear"),
        )
        torch.testing.assert_close(found.trajectories.frames[b], expected.frames, rtol=1e-9, atol=1e-10)
        for k, name in enumerate(ELEMENTS):
            torch.testing.assert_close(found.clocks[name][b], torch.tensor(expected.times[k], dtype=torch.float64))
            assert len(found.parts[name][b]) == len(expected.times[k])
        evaluations += expected.evaluations
    assert found.evaluations == evaluations
    assert torch.equal(found.trajectories.frames[:, 0], first)


def test_one_part_that_steps_by_one_frame_is_a_roll_out():
    first, net = walks([2, 2]).first(), Process(5, 0, 0, timed=False)

    def timed(frames):
        return net(frames), torch.ones(len(frames), dtype=torch.float64)

    dynamics = Dynamics(timed, SquaredError(), cumulants=Cumulants(None))
    ours = rollout_parts(Parts({"all": Part(range(5), dynamics)}), first, frames=6)
    theirs = rollout(dynamics, first, max_steps=5)
    assert torch.equal(ours.trajectories.frames, theirs.trajectories.frames)
    assert ours.evaluations == theirs.evaluations


def test_pictures_have_channels_as_parts():
    g = torch.Generator().manual_seed(0)
    x = Trajectories(torch.randint(0, 256, (2, 6, 3, 4, 5), generator=g, dtype=torch.uint8), torch.tensor([6, 4]), 1 / 255)
    nets = [nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(1, 1, 3, padding=1)]

    def timed(net):
        return lambda frames: (net(frames), 2 + 0 * frames.flatten(1).sum(1))

    clock = Cumulants.clock(x)
    parts = Parts(
        {
            str(k): Part(own, Dynamics(timed(net), SquaredError(), cumulants=clock))
            for k, (own, net) in enumerate(zip(((0, 2), (1,)), nets, strict=True))
        }
    )
    match_parts(parts, x, Greedy(3)).loss.backward()
    assert all(net.weight.grad.abs().sum() > 0 for net in nets)
    rolled = rollout_parts(parts, x.first(), frames=5, between="hold")
    assert rolled.trajectories.frames.shape == (2, 5, 3, 4, 5)
    assert torch.equal(rolled.trajectories.frames[:, 2], rolled.trajectories.frames[:, 3])


def test_parts_with_clocks_of_their_own_skip_where_whole_frames_cannot():
    """Two counters jump at times of their own: each one's next level is sure, the pair's is a matter of chance."""
    g = torch.Generator().manual_seed(0)
    levels = []
    for _ in range(40):
        waits = torch.randint(2, 7, (2, 6), generator=g).cumsum(1)
        t = torch.arange(40)
        levels.append(torch.stack([(t[:, None] >= one).sum(1) for one in waits], dim=1).float())
    x = Trajectories.from_list(levels)
    jump = Dynamics(lambda frames: (frames + 1).clamp(max=6), SquaredError())
    whole = match(jump, x, Greedy(8))
    parts = match_parts(Parts({"left": Part((0,), jump), "right": Part((1,), jump)}), x, Greedy(8))
    assert float(parts.loss) == 0 < float(whole.loss)


IDLE = Dynamics(lambda frames: frames, SquaredError())
TIMED = Dynamics(lambda frames: (frames, frames[:, 0]), SquaredError(), cumulants=Cumulants(None))
X = walks([5, 4], size=3)


def both(dynamics):
    return Parts({"a": Part((0, 2), dynamics), "b": Part((1,), dynamics)})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: match_parts(Parts({"a": Part((0,), IDLE), "b": Part((2,), IDLE)}), X, Greedy(2)),
            r"Parts should cover a frame, elements 0 to 2. Found none for \[1\]",
        ),
        (lambda: match_parts(Parts({"a": Part(range(4), IDLE)}), X, Greedy(2)), r"Found \[3\], which there are not"),
        (lambda: rollout_parts(Parts({"a": Part((0, 1), TIMED)}), X.first(), frames=3), r"Found none for \[2\]"),
        (lambda: Parts({"a": Part((0, 1), IDLE), "b": Part((1,), IDLE)}), "one part. Found 1 in 'a' and in 'b'"),
        (lambda: Parts({}), "one process or more. Found none"),
        (lambda: Part((), IDLE), "one of a frame's elements or more. Found none"),
        (lambda: Parts({"a": Part((0,), IDLE)}, "some"), '`sees` should be "own" or "all"'),
        (
            lambda: Parts({"a": Part((0,), Dynamics(IDLE.model, IDLE.loss, torch.zeros(2, 1)))}, "all"),
            "Found another one in 'a'",
        ),
        (lambda: match_parts(both(IDLE), X, {"a": Greedy(2)}), r"one for each of \['a', 'b'\]. Found \['a'\]"),
        (
            lambda: match_parts(Parts({"a": Part((0,), IDLE)}), Trajectories(torch.zeros(1, 3), torch.tensor([3])), Greedy(2)),
            "first dimension",
        ),
        (lambda: rollout_parts(both(IDLE), X.first(), frames=3), "by cumulants of 1 without a discount. Found none in 'a'"),
        (
            lambda: rollout_parts(both(Dynamics(IDLE.model, IDLE.loss, cumulants=Cumulants(None, 0.9))), X.first(), frames=3),
            "Found none in 'a'",
        ),
        (lambda: rollout_parts(both(TIMED), X.first(), frames=1), "`frames` should be at least 2"),
        (lambda: rollout_parts(both(TIMED), X.first()[:0], frames=3), r"`first` should have the shape .*Found \(0, "),
        (lambda: rollout_parts(both(TIMED), torch.tensor(1.0), frames=3), r"`first` should have the shape .*Found \(\)"),
        (
            lambda: rollout_parts(
                both(Dynamics(IDLE.model, IDLE.loss, cumulants=Cumulants(None), state=Memory(torch.zeros(1)))),
                X.first(),
                frames=3,
            ),
            "without memories",
        ),
        (
            lambda: rollout_parts(
                both(Dynamics(IDLE.model, GaussianNLL(), cumulants=Cumulants(None), feedback=Sampled(lambda z, noise: z))),
                X.first(),
                frames=3,
            ),
            "without samples",
        ),
        (
            lambda: rollout_parts(
                both(Dynamics(IDLE.model, IDLE.loss, Actions(torch.zeros(2, 5, 1)), cumulants=Cumulants(None))),
                X.first(),
                frames=3,
            ),
            "should be static",
        ),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_mistakes_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: match_parts({"a": Part((0,), IDLE)}, X, Greedy(2)), "`parts` should be Parts"),
        (lambda: match_parts(both(IDLE), X.frames, Greedy(2)), "Found Tensor"),
        (lambda: Parts({"a": IDLE}), r"`parts\['a'\]` should be Part"),
        (lambda: Part((0.5,), IDLE), r"`elements` should be whole numbers. Found \[0.5\]"),
        (lambda: Part((0,), IDLE.model), "`dynamics` should be skips.Dynamics"),
        (lambda: rollout_parts(both(TIMED), X, frames=3), "`first` should be a tensor"),
        (
            lambda: rollout_parts(both(TIMED), X.first().int(), frames=3),
            r"`first` should hold floating numbers\. Found torch\.int32",
        ),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_another_type_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


def test_a_roll_out_that_diverges_is_said():
    with pytest.raises(FloatingPointError, match="Found one that is not in part 'a'"):
        rollout_parts(
            both(Dynamics(lambda z: (z * torch.inf, z[:, 0]), SquaredError(), cumulants=Cumulants(None))), X.first(), frames=9
        )
