"""Passes for each environment begin where the graph narrows above what no formula serves, and give what the definition does."""

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
