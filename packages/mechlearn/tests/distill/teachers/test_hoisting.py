import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import Target
from mechlearn.distill.teachers.hoisting import Hoisting, Teaching
from mechlearn.distill.teachers.signals import pack

UNITS = {"a": (3,), "b": (2, 2)}


class Branching(nn.Module):
    """Looks at the data to decide what to do, which cannot be vectorised, and couples the examples of a batch."""

    def __init__(self):
        super().__init__()
        self.linear = models.filled(nn.Linear(4, 3), 1)
        self.register_buffer("calls", torch.zeros((), dtype=torch.float64))

    def forward(self, privileged):
        self.calls += 1
        h = self.linear(privileged - privileged.mean(0))
        return h if float(h.detach().sum()) > 0 else 2 * h


def gradient(teacher, layers, chunk, statistics="per-batch"):
    privileged = models.randn(3, 5, 6, 4)
    teaching = Teaching(teacher, layers, Hoisting(statistics, chunk))
    hoisted = teaching.hoist(privileged)
    weights = tuple(models.randn(7 + k, *signal.shape) for k, signal in enumerate(hoisted.signals))
    return hoisted.signals, teaching.pull_back(hoisted, privileged, weights), weights


def literal(teacher, layers, weights):
    privileged = models.randn(3, 5, 6, 4)
    rows = [pack(teacher(batch), layers)[0] for batch in privileged]
    signals = [torch.stack(parts) for parts in zip(*rows, strict=True)]
    total = sum((signal * weight).sum() for signal, weight in zip(signals, weights, strict=True))
    names = [name for name, _ in teacher.named_parameters()]
    return signals, dict(zip(names, torch.autograd.grad(total, list(teacher.parameters())), strict=True))


@pytest.mark.parametrize("chunk", [None, 1, 2, 5, 9])
@pytest.mark.parametrize("make", [lambda: models.teacher(UNITS, gated=True), Branching])
def test_one_backward_pass_is_that_of_batch_after_batch(make, chunk):
    teacher = make()
    layers = ["a"] if isinstance(teacher, Branching) else list(UNITS)
    signals, found, weights = gradient(teacher, layers, chunk)
    expected_signals, expected = literal(make(), layers, weights)
    for signal, wanted in zip(signals, expected_signals, strict=True):
        torch.testing.assert_close(signal, wanted, rtol=1e-12, atol=1e-12)
    assert models.largest_error(found, expected) < 1e-12


def test_running_averages_and_counts_stay():
    teacher, branching = models.teacher(UNITS), Branching()
    before = {name: buffer.clone() for name, buffer in teacher.named_buffers()}
    gradient(teacher, list(UNITS), None)
    gradient(teacher, list(UNITS), None, "pooled")
    gradient(branching, ["a"], 2)
    assert branching.calls == 0
    assert all(torch.equal(buffer, before[name]) for name, buffer in teacher.named_buffers())


def test_frozen_and_unreached_parameters():
    teacher = models.teacher(UNITS)
    teacher.network[0].requires_grad_(False)
    teacher.idle = nn.Parameter(torch.ones(2))
    _, found, _ = gradient(teacher, list(UNITS), 2)
    assert "network.0.weight" not in found
    assert not found["idle"].any()


def test_outputs_are_told_apart():
    value = models.randn(0, 5, 3)
    assert pack(value, ["a"])[1] == (("a", False),)
    assert pack(Target(value, value), ["a"])[1] == (("a", True),)
    assert pack({"b": Target(value), "a": value}, ["a", "b"])[1] == (("a", False), ("b", False))
    with pytest.raises(ValueError, match="a single Tensor for 2 layers"):
        pack(value, ["a", "b"])
    with pytest.raises(ValueError, match=r"layers \['a'\]\. Found \['b'\]"):
        pack({"b": value}, ["a"])
    with pytest.raises(ValueError, match="Found list"):
        pack([value], ["a"])


@pytest.mark.parametrize(("statistics", "chunk"), [("batch", None), ("pooled", 2), ("per-batch", 0)])
def test_bad_choices_are_refused(statistics, chunk):
    with pytest.raises(ValueError, match="should be"):
        Hoisting(statistics, chunk)


def test_a_teacher_in_low_precision_is_close_and_stays_in_the_data_s_type():
    def found(autocast):
        teacher, privileged = models.teacher(UNITS, gated=True).float(), models.randn(3, 5, 6, 4).float()
        teaching = Teaching(teacher, list(UNITS), Hoisting(chunk=2, autocast=autocast))
        hoisted = teaching.hoist(privileged)
        return hoisted.signals, teaching.pull_back(hoisted, privileged, tuple(map(torch.ones_like, hoisted.signals)))

    (exact, gradients), (rough, rough_gradients) = found(None), found(torch.bfloat16)
    assert all(signal.dtype == torch.float32 for signal in rough)
    assert not torch.equal(rough[0], exact[0])
    torch.testing.assert_close(rough, exact, rtol=0.1, atol=0.1)
    assert models.largest_error(rough_gradients, gradients) < 0.05


class Tokens(nn.Module):
    """A teacher of whole numbers."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 8), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.table(x).mean(1))


def test_signals_of_tokens_are_floats_under_autocast():
    tokens = torch.randint(0, 7, (3, 4, 6), generator=models.generator())
    teacher = models.filled(Tokens(), 0).float()
    exact, lower = (Teaching(teacher, ["0"], Hoisting(autocast=kind)).signals(tokens)[0][0] for kind in (None, torch.bfloat16))
    assert lower.dtype == torch.float32
    torch.testing.assert_close(lower, exact, rtol=0.05, atol=0.05)
