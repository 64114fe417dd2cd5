"""What a model keeps from match to match, against the literal loop; and a ball that blinks."""

import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import simulators_oracles as oracles
from mechlearn.losses import SquaredError
from mechlearn.skips import (
    Aligned,
    Cumulants,
    Dynamics,
    Fixed,
    Greedy,
    Memory,
    SoftGreedy,
    evaluate,
    match,
    rollout,
    training_step,
)
from mechlearn.trajectories import Trajectories
from walks import walks


class Recurrent(nn.Module):
    """From a frame and a state of 3 numbers to a frame, a sum and a state."""

    def __init__(self, gains=True):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(5, 6, generator=g, dtype=torch.float64) / 2)
        self.initial = nn.Parameter(torch.randn(3, generator=g, dtype=torch.float64))
        self.gains, self.seen = gains, 0

    def forward(self, frames, state):
        self.seen += len(frames)
        out = torch.cat([frames, state], dim=1) @ self.weight
        made = out[:, :2].tanh() * 2, out[:, 2:3], out[:, 3:].tanh()
        return made if self.gains else (made[0], made[2])


def squared(z, x):
    return ((z - x) ** 2).mean()


@given(
    lengths=st.lists(st.integers(5, 11), min_size=1, max_size=4),
    horizon=st.integers(1, 6),
    shown=st.integers(1, 4),
    epsilon=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**20),
)
def test_the_state_goes_along_the_matches_as_in_the_literal_loop(lengths, horizon, shown, epsilon, seed):
    x, model = walks(lengths, seed), Recurrent()
    g = torch.Generator().manual_seed(seed)
    rewards = Trajectories(torch.randn(len(lengths), max(lengths), generator=g, dtype=torch.float64), x.lengths - 1)
    dynamics = Dynamics(model, SquaredError(), cumulants=Cumulants(rewards), state=Memory(model.initial, shown))
    draws = torch.Generator().manual_seed(seed)
    expected = [
        oracles.simulator(
            lambda frame, h: tuple(part[0] for part in model(frame[None], h[None])),
            own,
            squared,
            gains.tolist(),
            (horizon, shown, 1.0, 1.0, epsilon),
            model.initial,
            torch.rand(n - 1, 3, dtype=torch.float64, generator=draws).tolist() if epsilon == 0.5 else None,
        )
        for own, gains, n in zip(x, rewards, lengths, strict=True)
    ]
    literal = torch.autograd.grad(sum(one.loss for one in expected) / len(expected), list(model.parameters()))
    model.seen = 0
    found = match(dynamics, x, Greedy(horizon), teacher_forcing=epsilon, generator=torch.Generator().manual_seed(seed))
    assert found.evaluations == model.seen == sum(one.evaluations for one in expected)
    for b, one in enumerate(expected):
        steps = int(found.steps[b])
        assert found.matched[b, :steps].tolist() == one.frames
        torch.testing.assert_close(found.trajectory_losses[b], one.loss, rtol=1e-12, atol=1e-13)
    for one, other in zip(torch.autograd.grad(found.loss, list(model.parameters())), literal, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("matching", [Greedy(4), Greedy(4, 0.5), Fixed(2), SoftGreedy(4, 0.1)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_a_state_that_the_model_does_not_use_changes_nothing(matching, epsilon):
    x, model = walks([9, 4, 12]), Recurrent(gains=False)

    def plain(frames):
        return model(frames, torch.zeros(len(frames), 3, dtype=torch.float64))[0]

    def idle(frames, state):
        return plain(frames), state

    alone, beside = (
        match(each, x, matching, teacher_forcing=epsilon, generator=torch.Generator().manual_seed(0))
        for each in (
            Dynamics(plain, SquaredError()),
            Dynamics(idle, SquaredError(), state=Memory(torch.ones(3, dtype=torch.float64))),
        )
    )
    assert torch.equal(alone.matched, beside.matched)
    assert torch.equal(alone.loss, beside.loss)
    grads = [torch.autograd.grad(each.loss, model.weight)[0] for each in (alone, beside)]
    assert torch.equal(*grads)


@given(shown=st.integers(1, 4), steps=st.integers(1, 5))
def test_a_roll_out_keeps_the_state(shown, steps):
    x, model = walks([6, 5, 7]), Recurrent()
    memory = Memory(model.initial, shown)
    dynamics = Dynamics(model, SquaredError(), cumulants=Cumulants(None), state=memory)
    found = rollout(dynamics, memory.first(x), max_steps=steps, stop=lambda frames: frames[:, 0] > 0.7)
    evaluations = 0
    for b, own in enumerate(x):
        h, frames, gained = model.initial, list(own[:shown]), 0.0
        for frame in frames[:-1]:
            h = model(frame[None], h[None])[2][0]
        while len(frames) < shown + steps and (len(frames) == shown or frames[-1][0] <= 0.7):
            z, r, h = (part[0] for part in model(frames[-1][None], h[None]))
            frames.append(z)
            gained += float(r.detach())
        evaluations += len(frames) - 1
        torch.testing.assert_close(found.trajectories[b], torch.stack(frames).detach(), rtol=1e-12, atol=1e-13)
        assert float(found.gained.sums[b, -1]) == pytest.approx(gained, abs=1e-12)
    assert found.evaluations == evaluations


def blinking(count, time=11, width=9):
    """A ball runs along a board of 9 places, to the right or to the left, and is seen in every third frame alone."""
    boards = torch.zeros(2 * count, time, width)
    for b in range(2 * count):
        for t in range(time):
            if t % 3 == 0 or t == 1:
                place = (b // 2 + (t if b % 2 == 0 else -t)) % width
                boards[b, t, place] = 1.0
    return Trajectories(boards, torch.full((2 * count,), time))


class Watcher(nn.Module):
    def __init__(self, size):
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.head = nn.GRUCell(9, size), nn.Linear(size, 9)

    def forward(self, frames, state):
        state = self.cell(frames, state)
        return self.head(state), state


class Forgetful(nn.Module):
    def __init__(self, size):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(9, size), nn.Tanh(), nn.Linear(size, 9))

    def forward(self, frames):
        return self.net(frames)


def test_a_ball_that_blinks_is_followed_by_a_model_that_remembers():
    """Where one frame shows nothing, or not which way the ball runs, a memory is needed: two first frames show the way."""
    data, size = blinking(9), 48
    watcher, forgetful = Watcher(size), Forgetful(size)
    memory = Memory(torch.zeros(size), frames=2)
    found = {}
    for name, dynamics in {
        "memory": Dynamics(watcher, SquaredError(), state=memory),
        "none": Dynamics(forgetful, SquaredError()),
    }.items():
        optimizer = torch.optim.Adam(dynamics.model.parameters(), lr=2e-2)
        for _ in range(70):
            training_step(dynamics, data, Fixed(1), optimizer, teacher_forcing=0.0)
        found[name] = float(match(dynamics, data, Fixed(1), teacher_forcing=0.0).loss.detach())
        assert evaluate(dynamics, data, max_steps=9).final.shape == (18,)
    assert found["memory"] < 0.005
    assert found["none"] > 0.03
    rolled = rollout(Dynamics(watcher, SquaredError(), state=memory), memory.first(data), max_steps=9).trajectories
    assert torch.equal(rolled.frames[:, 9].argmax(1), data.frames[:, 9].argmax(1))


def test_the_context_stands_before_the_state():
    x = walks([5, 4])
    context = torch.ones(2, 1, dtype=torch.float64)
    seen = []

    def model(frames, given, state):
        seen.append(given)
        return frames + given, state + 1

    dynamics = Dynamics(model, SquaredError(), context, state=Memory(torch.zeros(1, dtype=torch.float64), 2))
    match(dynamics, x, Greedy(3), teacher_forcing=0.0)
    steps = []

    def policy(frames, rows, step):
        steps.append(step)
        return torch.zeros(len(frames), 1, dtype=torch.float64)

    rollout(dynamics, dynamics.state.first(x), max_steps=3, policy=policy)
    assert steps == [-1, 0, 1, 2]
    assert seen[0].shape == (2, 1)


def grows(frames, state):
    return frames, torch.cat([state, state], dim=1)


MEMORY = Memory(torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: match(Dynamics(grows, SquaredError(), state=MEMORY), walks([5, 4]), Greedy(2)),
            r"its state in the shape that it was given it, \(2, 3\). Found \(2, 6\)",
        ),
        (lambda: rollout(Dynamics(grows, SquaredError(), state=MEMORY), walks([5, 4]).first(), max_steps=2), r"Found \(2, 6\)"),
        (
            lambda: match(Dynamics(grows, SquaredError(), state=Memory(torch.zeros(3), 4)), walks([5, 4]), Greedy(2)),
            r"a frame behind the 4 that the model is shown first. Found 4 frames in trajectory 1",
        ),
        (
            lambda: rollout(
                Dynamics(grows, SquaredError(), state=Memory(torch.zeros(3), 4)), walks([5, 4]).first(), max_steps=2
            ),
            r"`first` should be the 4 frames.* Found \(2, 2\). trajectories.values\(\)\[:, :4\]",
        ),
        (lambda: match(Dynamics(grows, SquaredError(), state=MEMORY), walks([5, 4]), Aligned(2)), "Match step by step"),
        (lambda: Memory(torch.zeros(3), 0), "`frames` should be at least 1"),
        (lambda: Memory(torch.zeros(0)), "`initial` should have elements"),
    ],
)
def test_mistakes_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Memory([0.0]), "`initial` should be a tensor"),
        (lambda: Memory(torch.zeros(3, dtype=torch.int64)), "`initial` should be floats. Found torch.int64"),
        (lambda: Memory(torch.zeros(3), 1.5), "`frames` should be a whole number"),
        (lambda: Dynamics(grows, SquaredError(), state=torch.zeros(3)), r"`state` should be Memory\(initial\). Found Tensor"),
        (
            lambda: match(Dynamics(lambda frames, state: frames, SquaredError(), state=MEMORY), walks([5, 4]), Greedy(2)),
            r"should return \(prediction, state\), as its dynamics have state. Found Tensor",
        ),
        (
            lambda: match(Dynamics(lambda frames, state: (frames, 3), SquaredError(), state=MEMORY), walks([5, 4]), Greedy(2)),
            "Found int",
        ),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_another_type_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


def test_match_has_no_argument_of_its_own_for_it():
    assert len(inspect.signature(match).parameters) <= 8


@pytest.mark.parametrize(
    ("shown", "dt", "steps"), [(1, 5, 1), (3, 3, 1), (3, 1, 3), (4, 2, 1), (3, 4, 0), (3, 5, 0), (4, 3, 0)]
)
def test_whole_steps_count_from_the_last_frame_that_is_shown(shown, dt, steps):
    def model(frames, state):
        return frames, state + 1

    dynamics = Dynamics(model, SquaredError(), state=Memory(torch.zeros(1), frames=shown))
    batch = Trajectories(torch.rand(1, 6, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([6]))
    if steps:
        assert match(dynamics, batch, Fixed(dt, "drop")).skips.tolist() == [[dt] * steps]
        return
    left = rf"more than dt = {dt} frames from the last on .* frame {shown - 1}\. Found {7 - shown} in trajectory 0"
    with pytest.raises(ValueError, match=left):
        match(dynamics, batch, Fixed(dt, "drop"))


def test_a_state_and_cumulants_keep_their_types():
    x = Trajectories(torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(0)).bfloat16(), torch.tensor([9, 7]))
    seen = []

    def model(frames, state):
        seen.append((frames.dtype, float(state[0, 0])))
        return frames, state + 1e-3

    dynamics = Dynamics(model, SquaredError(), state=Memory(torch.ones(2)))
    found = match(dynamics, x, Fixed(1))
    assert found.loss.dtype == torch.bfloat16
    matched, seen[:] = [*seen], []
    rollout(dynamics, x.first(), max_steps=8)
    assert matched == seen
    wide = Trajectories(x.frames.float(), x.lengths)
    counting = Dynamics(lambda f: (f, torch.ones(len(f), dtype=torch.float64)), SquaredError(), cumulants=Cumulants.clock(wide))
    assert match(counting, wide, Fixed(1)).loss.dtype == torch.float32
