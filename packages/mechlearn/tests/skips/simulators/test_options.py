"""One model of several options, whose skips end where options do, against the literal loop."""

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
    Options,
    OrEnd,
    SoftGreedy,
    match,
    rollout,
    training_step,
)
from mechlearn.testing import check_matching
from mechlearn.trajectories import Trajectories
from walks import walks


def runs(lengths, count, seed=0):
    """Runs of 1 to 5 frames; -9 as padding must never be looked at."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.full((len(lengths), max(lengths) + 2), -9)
    for row, n in zip(ids, lengths, strict=True):
        t = 0
        while t < n - 1:
            end = min(n - 1, t + 1 + int(torch.randint(0, 5, (), generator=g)))
            row[t:end] = int(torch.randint(0, count, (), generator=g))
            t = end
    return ids


class Conditional(nn.Module):
    def __init__(self, count):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.weights = nn.Parameter(torch.randn(count, 2, 2, generator=g, dtype=torch.float64))

    def forward(self, frames, ids):
        return torch.einsum("ni,nij->nj", frames, self.weights[ids]).tanh() * 2


def squared(z, x):
    return ((z - x) ** 2).mean()


@given(
    lengths=st.lists(st.integers(2, 16), min_size=1, max_size=4),
    horizon=st.integers(1, 6),
    count=st.integers(1, 3),
    reaches=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_matches_never_pass_an_options_end(lengths, horizon, count, reaches, seed):
    x, ids, model = walks(lengths, seed), runs(lengths, count, seed), Conditional(count)
    matching = OrEnd(Greedy(horizon)) if reaches else Greedy(horizon)
    found = match(Dynamics(model, SquaredError(), Options(ids, count)), x, matching)
    for b, own in enumerate(x):
        f = lambda frame, o: model(frame[None], torch.tensor([o]))[0]  # noqa: E731
        expected = oracles.with_options(f, own, ids[b].tolist(), squared, horizon, reaches)
        assert found.matched[b, : int(found.steps[b])].tolist() == expected.frames
        torch.testing.assert_close(found.trajectory_losses[b], expected.loss, rtol=1e-12, atol=1e-13)


@given(lengths=st.lists(st.integers(2, 16), min_size=1, max_size=4), count=st.integers(1, 3), seed=st.integers(0, 99))
def test_where_an_option_ends(lengths, count, seed):
    ids = runs(lengths, count, seed)
    expected = [[oracles.option_end(row.tolist(), t, n - 1) for t in range(n - 1)] for row, n in zip(ids, lengths, strict=True)]
    assert Options(ids, count).ends(lengths) == expected


@pytest.mark.parametrize("matching", [Greedy(4), Greedy(4, 0.5), Fixed(3), Fixed(2, "drop"), SoftGreedy(4, 0.1)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_with_one_option_throughout_it_is_what_it_is_without(matching, epsilon):
    x, model = walks([9, 4, 12]), Conditional(1)
    ones = torch.zeros(3, 12, dtype=torch.int64)
    alone, beside = (
        match(each, x, matching, teacher_forcing=epsilon, generator=torch.Generator().manual_seed(0))
        for each in (
            Dynamics(lambda frames: model(frames, torch.zeros(len(frames), dtype=torch.int64)), SquaredError()),
            Dynamics(model, SquaredError(), Options(ones, 1)),
        )
    )
    assert torch.equal(alone.matched, beside.matched)
    assert torch.equal(alone.loss, beside.loss)


@pytest.mark.parametrize("matching", [Greedy(8), Greedy(8, 0.5), Fixed(7), SoftGreedy(8, 0.1), OrEnd(Greedy(3, 0.5))])
def test_whatever_matches_options_ends_are_matched(matching):
    x, ids = walks([14, 9]), runs([14, 9], 2)
    dynamics = Dynamics(Conditional(2), SquaredError(), Options(ids, 2))
    found = match(dynamics, x, matching, generator=torch.Generator().manual_seed(0))
    for b, n in enumerate((14, 9)):
        at = found.matched[b, : int(found.steps[b])].tolist()
        ends = {oracles.option_end(ids[b].tolist(), t, n - 1) for t in range(n - 1)}
        assert ends <= set(at)


def test_or_end_is_greedy_where_no_end_lies_beyond_the_horizon():
    x, model = walks([5, 4, 5]), Conditional(1)
    for mu in (0.0, 0.5):
        ours, theirs = (
            match(
                Dynamics(lambda frames: model(frames, torch.zeros(len(frames), dtype=torch.int64)), SquaredError()),
                x,
                each,
                generator=torch.Generator().manual_seed(0),
            )
            for each in (OrEnd(Greedy(4, mu)), Greedy(4, mu))
        )
        assert torch.equal(ours.matched, theirs.matched)
        assert torch.equal(ours.loss, theirs.loss)


@pytest.mark.parametrize("matching", [OrEnd(Greedy(3)), OrEnd(Greedy(3, 0.5, ties="last"))])
def test_it_keeps_what_every_matching_owes(matching):
    check_matching(matching)


def test_skips_and_ends_are_learnt_together():
    """Two options, to the wall at 1 and to the wall at 0, at a pace of chance; a plan is rolled out option by option."""
    g = torch.Generator().manual_seed(0)
    trajectories, ids = [], []
    for _ in range(40):
        places, options = [float(torch.rand((), generator=g))], []
        for k in range(3):
            option = (k + len(trajectories)) % 2
            while places[-1] != option:
                step = (0.05 + 0.2 * float(torch.rand((), generator=g))) * (1 if option else -1)
                places.append(min(1.0, max(0.0, places[-1] + step)))
                options.append(option)
        trajectories.append(torch.tensor(places)[:, None])
        ids.append(torch.tensor([*options, options[-1]]))
    x = Trajectories.from_list(trajectories)
    options = Options(Trajectories.from_list(ids).frames, 2)
    ended = torch.zeros(options.ids.shape)
    for b, ends in enumerate(options.ends(x.lengths.tolist())):
        for t, end in enumerate(ends):
            ended[b, t] = float(end == t + 1)
    torch.manual_seed(0)
    # Weights of the CPU's generator wherever the rest is: from two starts of three it learns to skip within an option only.
    net = nn.Sequential(nn.Linear(3, 32, device="cpu"), nn.Tanh(), nn.Linear(32, 2, device="cpu")).to(x.frames.device)

    def model(frames, option):
        out = net(torch.cat([frames, nn.functional.one_hot(option, 2).float()], dim=1))
        return out[:, :1], out[:, 1]

    cumulants = Cumulants(Trajectories(ended, x.lengths - 1))
    dynamics = Dynamics(model, SquaredError(), options, feedback=torch.detach, cumulants=cumulants)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(40):
        found = training_step(dynamics, x, OrEnd(Greedy(3)), optimizer)
    assert found.mean_skip > 4 > match(dynamics, x, Greedy(3)).mean_skip
    assert set(found.cumulants[found.skips > 0].flatten().tolist()) <= {0.0, 1.0}  # at most one end in a skip
    frames = x.first()[:8]
    for option in (1, 0, 1):
        static = Dynamics(model, SquaredError(), torch.full((8,), option), cumulants=Cumulants(None))
        wall = (lambda f: f[:, 0] > 0.9) if option else (lambda f: f[:, 0] < 0.1)
        rolled = rollout(static, frames, max_steps=12, stop=wall)
        assert rolled.stopped.all()
        frames = rolled.trajectories.last()


X = walks([6, 4])


def conditional(ids, count=2):
    return Dynamics(Conditional(2), SquaredError(), Options(ids, count))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Options([[0, 1]], 2), "`ids` should be a tensor"),
        (lambda: Options(torch.zeros(2, 4, dtype=torch.int64, device="meta"), 2), "`ids` should hold data"),
        (lambda: Options(torch.zeros(2, 4), 2), "`ids` should hold whole numbers. Found torch.float32"),
        (lambda: Options(torch.zeros(2, 4, dtype=torch.int64), 2.0), "`count` should be a whole number"),
        (lambda: OrEnd(Fixed(2)), r"`greedy` should be Greedy\(...\)"),
        (
            lambda: rollout(conditional(torch.zeros(2, 6, dtype=torch.int64)), X.first(), max_steps=2),
            "does not know which option would be chosen. Found Options",
        ),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_another_type_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: match(conditional(torch.tensor([[0, 1, 2, 0, 0], [0, 0, 0, 9, 9]])), X, Greedy(2)),
            "one of 0 to 1. Found 2 in trajectory 0, frame 2",
        ),
        (
            lambda: match(conditional(torch.tensor([[0] * 5, [0, 0, -1, 9, 9]])), X, Greedy(2)),
            "Found -1 in trajectory 1, frame 2",
        ),
        (
            lambda: match(conditional(torch.zeros(2, 4, dtype=torch.int64)), X, Greedy(2)),
            r"first 5 frames. Found shape \(2, 4\)",
        ),
        (
            lambda: match(conditional(torch.zeros(3, 6, dtype=torch.int64)), X, Greedy(2)),
            r"Found shape \(3, 6\). Choose them as",
        ),
        (lambda: match(conditional(torch.zeros(2, 6, dtype=torch.int64)), X, Aligned(2)), "Match step by step"),
        (lambda: Options(torch.zeros(4, dtype=torch.int64), 2), r"the shape \(batch, time\). Found \(4,\)"),
        (lambda: Options(torch.zeros(2, 4, dtype=torch.int64), 0), "`count` should be at least 1"),
        (lambda: OrEnd(Greedy(2, scale=[1.0, 2.0])), "should have no scale"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_mistakes_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
