import math
from dataclasses import fields
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import skips_oracles as oracles
from mechlearn import losses
from mechlearn.schedules import Linear
from mechlearn.skips import Actions, Aligned, Dynamics, Fixed, Greedy, SoftGreedy, TimeAgnostic, candidate_losses, match
from mechlearn.trajectories import Trajectories

FRAME = (2, 3)


class Kind(NamedTuple):
    """A loss, the literal one, what a network's output has to go through, and what is fed back."""

    ours: losses.Loss
    literal: oracles.Compare
    head: nn.Module
    feed: object


def absolute_error(prediction, target):
    return (prediction - target).abs().flatten(1).mean(1)


KINDS = {
    "bce with logits": Kind(losses.BinaryCrossEntropyWithLogits(), oracles.bce_with_logits, nn.Identity(), torch.sigmoid),
    "bce": Kind(losses.BinaryCrossEntropy(), oracles.bce, nn.Sigmoid(), nn.Identity()),
    "squared": Kind(losses.SquaredError(), oracles.squared_error, nn.Identity(), nn.Identity()),
    "gaussian": Kind(losses.GaussianNLL(), oracles.gaussian, nn.Identity(), lambda z: z[0]),
    "absolute (no ranking)": Kind(absolute_error, oracles.absolute_error, nn.Identity(), nn.Identity()),
}


class Net(nn.Module):
    """A small dynamics model in float64, with an input for a context."""

    def __init__(self, out=FRAME, context=0, head=None, seed=0):
        super().__init__()
        size = math.prod(FRAME)
        self.out, self.head = out, head or nn.Identity()
        g = torch.Generator().manual_seed(seed)
        self.first = nn.Parameter(torch.randn(size + context, 5, generator=g, dtype=torch.float64))
        self.second = nn.Parameter(torch.randn(5, math.prod(out), generator=g, dtype=torch.float64))

    def forward(self, frames, context=None):
        inputs = frames.flatten(1) if context is None else torch.cat([frames.flatten(1), context.flatten(1)], dim=1)
        return self.head(torch.tanh(inputs @ self.first) @ self.second).reshape(-1, *self.out)


def net_for(kind, context=0):
    return Net((2, *FRAME) if kind.ours.__class__ is losses.GaussianNLL else FRAME, context, kind.head)


def random_walks(lengths, seed, in_bytes):
    """Slow worlds, often at rest, so that windows have close candidates and exact ties."""
    g = torch.Generator().manual_seed(seed)
    walks = []
    for length in lengths:
        moves = torch.randint(-60, 61, (length, *FRAME), generator=g) * (torch.rand(length, 1, 1, generator=g) < 0.6)
        walks.append((128 + moves.cumsum(0)).clamp(0, 255).to(torch.uint8))
    if in_bytes:
        trajectories = Trajectories.from_list(walks, scale=1 / 256)
        return trajectories.to(dtype=torch.float64) if in_bytes == "float64" else trajectories
    return Trajectories.from_list([walk.double() / 256 for walk in walks])


def gradients(loss, net):
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(net.parameters()))])


lengths_lists = st.lists(st.integers(2, 14), min_size=1, max_size=5)
probabilities = st.sampled_from([0.0, 1.0]) | st.builds(lambda steps, i: Linear(steps)(i), st.integers(1, 9), st.integers(0, 9))


@given(
    lengths=lengths_lists,
    horizon=st.integers(1, 16),
    mu=probabilities,
    epsilon=probabilities,
    name=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 2**20),
    scaled=st.booleans(),
    average=st.sampled_from(["trajectories", "steps"]),
)
def test_batched_equals_algorithm_1_trajectory_by_trajectory(lengths, horizon, mu, epsilon, name, seed, scaled, average):
    kind = KINDS[name]
    net = net_for(kind)
    trajectories = random_walks(lengths, seed, "float64" if scaled else None)
    needed = mu > 0 or 0 < epsilon < 1
    g = torch.Generator().manual_seed(seed) if needed else None
    literal_g = torch.Generator().manual_seed(seed)
    expected = [
        oracles.algorithm_1(
            lambda frame, _: net(frame[None])[0],
            x[:n],
            kind.literal,
            kind.feed,
            horizon,
            mu,
            epsilon,
            oracles.uniforms_of(n, literal_g) if needed else None,
        )
        for x, n in zip(trajectories.values(), lengths, strict=True)
    ]
    found = match(
        Dynamics(net, kind.ours), trajectories, Greedy(horizon, mu), teacher_forcing=epsilon, generator=g, average=average,
        keep_predictions=True,
    )  # fmt: skip
    for b, one in enumerate(expected):
        steps = len(one.skips)
        assert found.skips[b].tolist() == one.skips + [0] * (found.skips.shape[1] - steps)
        assert found.explored[b, :steps].tolist() == one.explored
        assert found.matched[b, :steps].tolist() == torch.tensor(one.skips).cumsum(0).tolist()
        torch.testing.assert_close(found.step_losses[b, :steps], torch.tensor(one.step_losses, dtype=torch.float64))
        torch.testing.assert_close(found.predictions[b], torch.stack(one.predictions).detach())
    assert found.evaluations == sum(one.evaluations for one in expected)
    assert found.steps.tolist() == [len(one.skips) for one in expected]
    if average == "trajectories":
        loss = sum(one.loss for one in expected) / len(expected)
    else:
        loss = sum(one.loss * len(one.skips) for one in expected) / found.evaluations
    torch.testing.assert_close(found.loss, loss, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(gradients(found.loss, net), gradients(loss, net), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.trajectory_losses, torch.stack([one.loss for one in expected]), rtol=1e-12, atol=1e-14)


@given(
    lengths=lengths_lists, dt=st.integers(1, 5), last=st.sampled_from(["clamp", "drop"]), name=st.sampled_from(sorted(KINDS))
)
def test_fixed_steps_equal_the_literal_loop(lengths, dt, last, name):
    kind = KINDS[name]
    net = net_for(kind)
    trajectories = random_walks(lengths, 3, in_bytes=None)
    if last == "drop" and min(lengths) <= dt:
        with pytest.raises(ValueError, match="more than dt"):
            match(Dynamics(net, kind.ours), trajectories, Fixed(dt, last))
        return
    expected = [
        oracles.fixed(lambda frame, _: net(frame[None])[0], x[:n], kind.literal, dt, last)
        for x, n in zip(trajectories.values(), lengths, strict=True)
    ]
    found = match(Dynamics(net, kind.ours), trajectories, Fixed(dt, last))
    assert [[skip for skip in row if skip] for row in found.skips.tolist()] == [one.skips for one in expected]
    loss = sum(one.loss for one in expected) / len(expected)
    torch.testing.assert_close(found.loss, loss, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(gradients(found.loss, net), gradients(loss, net), rtol=1e-9, atol=1e-12)
    assert found.evaluations == sum(one.evaluations for one in expected)


@given(lengths=lengths_lists, seed=st.integers(0, 2**20), name=st.sampled_from(sorted(KINDS)))
def test_bytes_match_as_floats_do(lengths, seed, name):
    kind = KINDS[name]
    net = net_for(kind).float()
    in_bytes = random_walks(lengths, seed, in_bytes=True)
    found, expected = (
        match(Dynamics(net, kind.ours), x, Greedy(6, 0.2), teacher_forcing=0.5, generator=torch.Generator().manual_seed(seed))
        for x in (in_bytes, Trajectories(in_bytes.values(), in_bytes.lengths))
    )
    assert torch.equal(found.skips, expected.skips)
    assert torch.equal(found.loss, expected.loss)


@given(lengths=st.lists(st.integers(2, 12), min_size=2, max_size=5), seed=st.integers(0, 2**20), cut=st.integers(1, 4))
def test_two_batches_give_what_one_gives(lengths, seed, cut):
    net = Net()
    x = random_walks(lengths, seed, in_bytes=None)
    cut = min(cut, len(lengths) - 1)

    def run(generator, *parts):
        found = [
            match(Dynamics(net, losses.SquaredError()), part, Greedy(5, 0.4), teacher_forcing=0.6, generator=generator)
            for part in parts
        ]
        skips = [[skip for skip in row if skip] for one in found for row in one.skips.tolist()]
        return skips, torch.cat([one.trajectory_losses for one in found])

    whole, whole_losses = run(torch.Generator().manual_seed(seed), x)
    halves, halves_losses = run(torch.Generator().manual_seed(seed), x[:cut], x[cut:])
    assert whole == halves
    torch.testing.assert_close(whole_losses, halves_losses, rtol=1e-12, atol=1e-14)


def test_with_a_generator_each_neither_order_nor_company_matters():
    net, x = Net(), random_walks([9, 4, 12], 1, in_bytes=None)

    def skips(order):
        generators = [torch.Generator().manual_seed(b) for b in order]
        found = match(Dynamics(net, losses.SquaredError()), x[order], Greedy(5, 0.5), teacher_forcing=0.5, generator=generators)
        return {b: row[row > 0].tolist() for b, row in zip(order, found.skips, strict=True)}

    assert skips([0, 1, 2]) == skips([2, 0, 1])
    assert skips([1])[1] == skips([0, 1, 2])[1]


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    x = random_walks([9, 4], 1, in_bytes=None)
    match(
        Dynamics(Net(), losses.SquaredError()),
        x,
        Greedy(5, 0.5),
        teacher_forcing=0.5,
        generator=torch.Generator().manual_seed(0),
    )
    assert torch.equal(torch.get_rng_state(), before)


def test_a_trajectory_that_has_ended_is_not_evaluated():
    sizes = []

    def model(frames):
        sizes.append(len(frames))
        return frames

    found = match(Dynamics(model, losses.SquaredError()), random_walks([3, 6, 2], 0, in_bytes=None), Fixed(1))
    assert sizes == [3, 2, 1, 1, 1]
    assert found.evaluations == sum(sizes) == 8


def test_a_static_context_stays_with_its_trajectory():
    context = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    x = random_walks([7, 3, 5], 2, in_bytes=None)
    net = Net(context=1)
    found = match(Dynamics(net, losses.SquaredError(), context), x, Greedy(4))
    expected = [
        oracles.algorithm_1(
            lambda frame, _, b=b: net(frame[None], context[b : b + 1])[0],
            x[b],
            oracles.squared_error,
            nn.Identity(),
            4,
            0,
            1,
            None,
        )
        for b in range(3)
    ]
    torch.testing.assert_close(found.trajectory_losses, torch.stack([one.loss for one in expected]))


@pytest.mark.parametrize("window", [None, 3])
def test_a_model_sees_the_actions_from_its_frame_on(window):
    x = random_walks([7, 3, 5], 2, in_bytes=None)
    actions = torch.arange(3 * 7, dtype=torch.float64).reshape(3, 7, 1) / 20
    own = actions * (torch.arange(7) < x.lengths[:, None])[:, :, None]  # what stands behind a trajectory is not shown
    padded = torch.cat([own, torch.zeros(3, 3, 1, dtype=torch.float64)], dim=1)
    net = Net(context=window or 1)
    g = torch.Generator().manual_seed(0)
    found = match(
        Dynamics(net, losses.SquaredError(), Actions(actions, window)), x, Greedy(4), teacher_forcing=0.5, generator=g
    )
    literal_g = torch.Generator().manual_seed(0)
    expected = [
        oracles.algorithm_1(
            lambda frame, t, b=b: net(frame[None], padded[b, t : t + (window or 1)][None])[0],
            x[b],
            oracles.squared_error,
            nn.Identity(),
            4,
            0,
            0.5,
            oracles.uniforms_of(len(x[b]), literal_g),
        )
        for b in range(3)
    ]
    assert [row[row > 0].tolist() for row in found.skips] == [one.skips for one in expected]
    torch.testing.assert_close(found.trajectory_losses, torch.stack([one.loss for one in expected]))


def test_candidate_losses_are_those_of_the_window():
    x = random_walks([6, 3], 4, in_bytes=None)
    net = Net()
    found = match(Dynamics(net, losses.SquaredError()), x, Greedy(3), keep_predictions=True)
    table = candidate_losses(found, x, losses.SquaredError(), 3)
    assert table.shape == (*found.skips.shape, 3)
    for b in range(2):
        t = 0
        for u, z in enumerate(found.predictions[b]):
            window = x[b][t + 1 : t + 4]
            literal = torch.stack([oracles.squared_error(z, frame) for frame in window])
            torch.testing.assert_close(table[b, u, : len(window)], literal)
            assert table[b, u, len(window) :].isinf().all()
            assert int(table[b, u].argmin()) + 1 == int(found.skips[b, u])
            t = int(found.matched[b, u])
        assert table[b, len(found.predictions[b]) :].isinf().all()


def test_an_encoder_in_place_leaves_the_kept_predictions():
    x = random_walks([6, 3], 4, in_bytes=None)
    dynamics = Dynamics(Net(), losses.SquaredError(), compare=lambda z: z.clamp_(min=0))
    found = match(dynamics, x, Greedy(3), keep_predictions=True)
    before = found.predictions.frames.clone()
    assert bool((before < 0).any())
    candidate_losses(found, x, losses.SquaredError(), 3, dynamics.compare)
    assert torch.equal(found.predictions.frames, before)


def test_predictions_under_autocast_are_compared_in_full():
    net = nn.Sequential(nn.Flatten(), nn.Linear(6, 6), nn.Unflatten(1, FRAME))
    x = random_walks([9, 5], 4, in_bytes=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = match(Dynamics(net, losses.SquaredError()), x, Greedy(3), teacher_forcing=0.0)
    assert found.loss.dtype == torch.float32
    found.loss.backward()
    assert net[1].weight.grad.isfinite().all()


SETTINGS = {
    "model": Net(),
    "loss": losses.SquaredError(),
    "trajectories": random_walks([5, 4], 0, in_bytes=None),
    "matching": Greedy(3),
}


def refused(**changes):
    settings = SETTINGS | changes
    parts = {field.name: settings.pop(field.name) for field in fields(Dynamics) if field.name in settings}
    return match(Dynamics(**parts), settings.pop("trajectories"), settings.pop("matching"), **settings)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"trajectories": random_walks([5, 1], 0, None)}, ValueError, "at least 2 frames.*Found 1 frame in trajectory 1"),
        ({"teacher_forcing": 1.2}, ValueError, r"`teacher_forcing` should lie in \[0, 1\]: it is a probability. Found 1.2"),
        ({"teacher_forcing": math.nan}, ValueError, "Found nan"),
        ({"teacher_forcing": 0.5}, TypeError, "`generator` should be given"),
        ({"matching": Greedy(3, 0.1)}, TypeError, "`generator` should be given"),
        ({"model": lambda x: x[:, :1]}, ValueError, r"The model should return .*\(2, 2, 3\).*Found \(2, 1, 3\)"),
        ({"model": lambda x: x[:1]}, ValueError, r"Found \(1, 2, 3\)"),
        ({"model": lambda x: (x, x)}, TypeError, "one tensor of floats. Found tuple"),
        ({"model": lambda x: x.int()}, TypeError, "Found a tensor of torch.int32"),
        ({"model": lambda x: x * math.nan}, FloatingPointError, "Found one that is not.*trajectory 0"),
        ({"model": lambda x: x * math.nan, "loss": absolute_error}, FloatingPointError, "Found nan in trajectory 0"),
        ({"loss": lambda z, x: (z - x).square().mean()}, ValueError, r"one value for each example, shape .*Found shape \(\)"),
        ({"context": torch.zeros(3, 1)}, ValueError, "one entry for each of the 2 trajectories"),
        ({"context": Actions(torch.zeros(2, 3, 1))}, ValueError, "an action for each of the first 4 frames"),
        ({"targets": random_walks([5, 5], 0, None)}, ValueError, r"`targets` should have the trajectories' lengths, \[5, 4\]"),
        ({"compare": lambda z: z.flatten(1)}, ValueError, "`compare` should return"),
        ({"feedback": lambda z: z.flatten(1), "teacher_forcing": 0.0}, ValueError, "should have the shape of a frame"),
        ({"matching": Aligned(3), "teacher_forcing": 0.0}, ValueError, "Leave it out"),
        (
            {"matching": Aligned(3, "predictions"), "context": Actions(torch.zeros(2, 4, 1))},
            ValueError,
            "Found `Actions` with inputs='predictions'. Pass inputs='frames'",
        ),
        ({"matching": Fixed(4, last="drop")}, ValueError, "more than dt = 4 frames. Found 4 in trajectory 1"),
        ({"matching": Greedy(3, 0.1), "generator": [torch.Generator()]}, ValueError, "one for each of the 2"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(changes, error, sentence):
    with pytest.raises(error, match=sentence):
        refused(**changes)


def in_bytes(largest, scale):
    frames = torch.zeros(2, 5, *FRAME, dtype=torch.uint8)
    frames[1, 3], frames[0, 4] = largest, 200  # the latter is padding
    return Trajectories(frames, torch.tensor([4, 5]), scale)


@pytest.mark.parametrize("kind", [losses.BinaryCrossEntropyWithLogits, losses.BinaryCrossEntropy])
def test_bytes_under_a_loss_of_shares_need_a_scale(kind):
    net = nn.Sequential(nn.Flatten(), nn.Linear(6, 6), nn.Sigmoid(), nn.Unflatten(1, FRAME))
    sentence = rf"{kind.__name__} .* at most 1. Found 7 stored in torch.uint8 with scale=1.*1/255"
    with pytest.raises(ValueError, match=sentence):
        match(Dynamics(net, kind()), in_bytes(7, 1.0), Greedy(3))
    for fine in (in_bytes(1, 1.0), in_bytes(255, 1 / 255), in_bytes(255, 1 / 256)):
        assert match(Dynamics(net, kind()), fine, Greedy(3)).loss.isfinite()
    assert match(Dynamics(net, losses.SquaredError()), in_bytes(7, 1.0), Greedy(3)).loss.isfinite()


def test_candidates_need_predictions():
    with pytest.raises(ValueError, match="keep_predictions=True"):
        candidate_losses(refused(), SETTINGS["trajectories"], losses.SquaredError(), 3)


def in_place(frames):
    return torch.relu_(frames.add_(0.25)).mul_(0.5)


@pytest.mark.parametrize("matching", [Greedy(3), Fixed(2), Aligned(3), Aligned(3, "predictions")])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_a_model_that_works_in_place_gives_what_another_gives(matching, epsilon):
    if isinstance(matching, Aligned) and epsilon < 1:
        return
    x = random_walks([7, 3, 5], 2, in_bytes=None)
    before = x.frames.clone()
    found = {}
    for model in (in_place, lambda frames: ((frames + 0.25).relu()) * 0.5):
        with torch.no_grad():
            found[model] = match(
                Dynamics(model, losses.SquaredError(), compare=lambda z: z.mul_(1.0)),
                x,
                matching,
                teacher_forcing=epsilon,
                generator=torch.Generator().manual_seed(0),
                keep_predictions=True,
            )
        assert torch.equal(x.frames, before)
    ours, theirs = found.values()
    assert torch.equal(ours.predictions.frames, theirs.predictions.frames)
    assert torch.equal(ours.trajectory_losses, theirs.trajectory_losses)
    assert torch.equal(ours.matched, theirs.matched)


def test_a_network_that_works_in_place_can_be_trained_on_its_own_predictions():
    net = nn.Sequential(nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(6, 6), nn.Unflatten(1, FRAME)).double()
    match(Dynamics(net, losses.SquaredError()), random_walks([7, 5], 2, None), Greedy(3), teacher_forcing=0.0).loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in net.parameters())


@pytest.mark.parametrize(
    ("lengths", "found"),
    [([6, 3, 5], "3 trajectories where 2 were matched"), ([6, 2], "2 frames in trajectory 1, of which frame 2 was matched")],
)
def test_candidates_of_another_batch_are_refused(lengths, found):
    x = random_walks([6, 3], 4, in_bytes=None)
    matched = match(Dynamics(Net(), losses.SquaredError()), x, Greedy(3), keep_predictions=True)
    with pytest.raises(ValueError, match=rf"of the same batch\. Found {found}\. Pass the trajectories"):
        candidate_losses(matched, random_walks(lengths, 4, in_bytes=None), losses.SquaredError(), 3)


class Rewritten:
    """Returns the same memory each time, as a layer with out= does; or new memory."""

    def __init__(self, same):
        self.buffer = torch.zeros(30, *FRAME, dtype=torch.float64) if same else None

    def __call__(self, frames):
        return frames * 0.9 + 0.1 if self.buffer is None else torch.add(frames * 0.9, 0.1, out=self.buffer[: len(frames)])


@pytest.mark.parametrize("part", ["model", "compare"])
@pytest.mark.parametrize("matching", [Greedy(3), Fixed(2), Aligned(3, "predictions"), TimeAgnostic(), SoftGreedy(3, 0.1)])
def test_what_returns_the_same_memory_each_time_is_matched_as_what_does_not(matching, part):
    x = random_walks([8, 8, 6], 4, in_bytes=None)
    made = [{"model": lambda frames: frames * 1.1, "compare": None} | {part: Rewritten(same)} for same in (True, False)]
    with torch.no_grad():
        one, other = (match(Dynamics(loss=losses.SquaredError(), **parts), x, matching) for parts in made)
    assert torch.equal(one.matched, other.matched)
    assert torch.equal(one.step_losses, other.step_losses)


@pytest.mark.parametrize("matching", [Greedy(2), Fixed(1), Fixed(1, last="drop")])
def test_a_loss_that_is_not_finite_is_refused_by_every_matching(matching):
    batch = Trajectories(torch.ones(1, 3, 2), torch.tensor([3]))
    with pytest.raises(FloatingPointError, match="Found"):
        match(Dynamics(lambda x: x * math.nan, losses.SquaredError()), batch, matching)
