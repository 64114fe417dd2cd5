"""Passes for each environment begin where the graph narrows above what no formula serves, and give what the definition does."""

import random
import warnings

import pytest
import torch
from torch import nn

from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask
from one_layer import PAIRED, SPREAD, TWINS, B, Doubled, noise


class Net(nn.Module):
    """Blocks that add to a stream; an operation that is not known lies in one of them, or before the first."""

    def __init__(self, at, widths=(6, 5)):
        super().__init__()
        torch.manual_seed(0)
        width, inner = widths
        self.stem = nn.Linear(width, width).double()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(width, inner), nn.Tanh(), nn.Linear(inner, width)) for _ in "abc"])
        self.blocks.double()
        self.at, self.hook = at, None

    def forward(self, x):
        h = Doubled.apply(self.stem(x)) if self.at == "stem" else self.stem(x)
        for number, block in enumerate(self.blocks):
            inner = block(Doubled.apply(h) if self.at == ("in", number) else h)
            h = h + (Doubled.apply(inner) if self.at == ("out", number) else inner)
            if self.hook is not None:
                h.register_hook(self.hook)
        return h.square().sum(1)


def step(model, losses, ids):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return assert_definition(Agreement(model, AndMask(0.6)), losses, ids)


@pytest.mark.parametrize("ids", [PAIRED, SPREAD, [*range(B)]], ids=["adjacent", "scattered", "alone"])
@pytest.mark.parametrize("at", ["stem", *((side, n) for side in ("in", "out") for n in range(3))], ids=str)
def test_masks_are_those_of_the_definition(at, ids):
    model = Net(at)
    record = step(model, model(noise(B, 6)), ids)
    assert 2 <= len(record.slow) <= 14


def test_ways_part_before_some_of_the_parameters():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.near, self.far = nn.Linear(6, 6).double(), nn.Linear(6, 6).double()

        def forward(self, x):
            return (Doubled.apply(self.near(x)) + torch.tanh(Doubled.apply(torch.tanh(self.far(x))))).square().sum(1)

    model = Two()
    assert len(step(model, model(noise(B, 6)), SPREAD).slow) == 4


@pytest.mark.parametrize(
    "meeting", [lambda h: h - h.mean(0), lambda h: h.tanh() * h.sum(0), lambda h: torch.cat([h, h[TWINS]], 1)]
)
def test_rows_that_meet_in_a_function_of_parameters(meeting):
    """What is made of parameters and constants hides the rows that meet in it."""
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh()).double()
    step(model, Doubled.apply(meeting(model(noise(B, 6)))).square().sum(1), SPREAD)


class Above(nn.Module):
    """An unknown operation at the stem, and above it a hook that notes every backward pass."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head, self.runs = nn.Linear(6, 6).double(), nn.Linear(6, 6).double(), []

    def forward(self, x):
        h = torch.tanh(Doubled.apply(self.stem(x)))
        h.register_hook(lambda gradient: self.runs.append(gradient.shape))
        return torch.tanh(self.head(torch.tanh(h))).square().sum(1)


def test_what_lies_above_runs_once():
    model = Above()
    losses = model(noise(B, 6))
    with pytest.warns(UserWarning, match="2 of 4 parameters"):
        record = Agreement(model, AndMask(0.6)).backward(losses, PAIRED)
    assert record.slow == ["stem.weight", "stem.bias"]
    assert len(model.runs) == 1
    step(model, model(noise(B, 6)), PAIRED)


@pytest.mark.parametrize(
    "hook", [lambda g: 2 * g, lambda g: g.clamp(-0.5, 0.5), lambda g: None], ids=["twice", "clamp", "looks"]
)
def test_a_hook_where_the_passes_begin_acts_once(hook):
    model = Net(("out", 1))
    model.hook = hook
    step(model, model(noise(B, 6)), SPREAD)


@pytest.mark.parametrize("depth", range(4))
def test_a_retained_gradient_is_that_of_the_sum(depth):
    model = Net("stem")
    streams = [model.stem(noise(B, 6))]
    for number, block in enumerate(model.blocks):
        streams.append(streams[-1] + (Doubled.apply(block(streams[-1])) if number == 1 else block(streams[-1])))
    losses = streams[-1].square().sum(1)
    (wanted,) = torch.autograd.grad(losses.reshape(4, 2).mean(1).mean(), streams[depth], retain_graph=True)
    model.held = streams[depth]
    model.held.retain_grad()
    with pytest.warns(UserWarning, match="for each environment"):
        Agreement(model, AndMask(0.6)).backward(losses, PAIRED)
    torch.testing.assert_close(model.held.grad, wanted)


def test_rows_folded_into_a_dimension_and_turned_around():
    class Folded(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.a, self.b = nn.Linear(5, 5).double(), nn.Linear(5, 5).double()

        def forward(self, x):  # (B, 3, 5)
            h = Doubled.apply(self.a(x).transpose(0, 1).reshape(-1, 5))  # (3 * B, 5)
            return torch.tanh(self.b(h)).reshape(3, -1, 5).square().sum((0, 2))

    model = Folded()
    record = step(model, model(noise(B, 3, 5)), SPREAD)
    assert record.slow == ["a.weight", "a.bias"]


def test_a_complex_filter_and_a_whole_that_is_one_environments():
    class Waves(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.wave = nn.Parameter(noise(6, seed=3))
            self.head = nn.Linear(4, 3).double()

        def forward(self, x):
            h = torch.fft.rfft(Doubled.apply(x * self.wave))
            return torch.tanh(self.head(Doubled.apply(h).abs())).square().sum(1)

    model = Waves()
    step(model, model(noise(B, 6)), PAIRED)


OPERATIONS = {
    "linear": lambda u, v, w, c: u @ w,
    "tanh": lambda u, v, w, c: torch.tanh(u),
    "add": lambda u, v, w, c: u + v,
    "gate": lambda u, v, w, c: torch.tanh(u) * torch.sigmoid(v),
    "unknown": lambda u, v, w, c: Doubled.apply(u),
    "meet": lambda u, v, w, c: u - u.mean(0),
    "twins": lambda u, v, w, c: u + u.roll(1, 0),
    "bias": lambda u, v, w, c: u + c,
    "fold": lambda u, v, w, c: torch.tanh(u.expand(2, -1, -1).reshape(-1, 3) @ w).reshape(2, -1, 3).sum(0),
    "part": lambda u, v, w, c: torch.cat([u, v], 1)[:, 1:4],
    "made": lambda u, v, w, c: torch.tanh(u) @ (w / w.norm() + torch.outer(c, c)) + w.sum(0),
}


class Drawn(nn.Module):
    """Operations on what earlier ones gave, drawn."""

    def __init__(self, seed):
        super().__init__()
        draw = random.Random(seed)
        shapes = [(3, 3)] * 4 + [(3,)] * 3
        self.parameters_ = nn.ParameterList([nn.Parameter(noise(*shape, seed=seed + k)) for k, shape in enumerate(shapes)])
        names = ["linear", *draw.choices([*OPERATIONS, "linear", "unknown"], k=draw.randrange(3, 10))]
        self.steps = [(name, draw.randrange(3), draw.randrange(9), draw.randrange(4), 4 + draw.randrange(3)) for name in names]

    def forward(self, x):
        values = [x]
        for name, near, far, w, c in self.steps:
            u, v = values[-1 - near % len(values)], values[far % len(values)]
            values.append(OPERATIONS[name](u, v, self.parameters_[w], self.parameters_[c]))
        return (values[-1] + values[-2]).square().sum(1) + values[1].sum(1)


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_drawn_networks(first):
    for seed in range(first, first + 25):
        model = Drawn(seed)
        step(model, model(noise(B, 3, seed=seed)), [PAIRED, SPREAD, [*range(B)], [0, 1, 1, 2, 0, 0, 1, 2]][seed % 4])
