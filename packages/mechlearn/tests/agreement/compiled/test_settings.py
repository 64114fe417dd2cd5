"""Rules, settings and surroundings of the compiled step: as with the eager engine, or the eager engine takes the call."""

import contextvars
import copy

import pytest
import torch
from torch import nn

from mechlearn.agreement import (
    Agreement,
    AndMask,
    GeometricMean,
    Heterogeneous,
    Homogeneous,
    Mean,
    MedianSign,
    Qualitative,
    SandMask,
    StandardErrors,
    XorMask,
    by_input,
)
from mechlearn.agreement.rules import SignalToNoiseMask
from traced_models import D, made, mlp, noise, scattered, vectors

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:The losses should be traced")

SERVED = [
    AndMask(0.6), AndMask(0.4, rescale="root"), XorMask(0.6), GeometricMean(0.2), MedianSign(), SandMask(0.3),
    SignalToNoiseMask(0.5), Mean(),
]  # fmt: skip
BY_EXAMPLE = [Homogeneous(0.2), Qualitative(0.2), Heterogeneous(), Qualitative(0.2, errors=StandardErrors(every=2))]

X, Y, IDS = noise(16, D), noise(16, 1, seed=1), scattered(16, 4)


def pair(rule, **settings):
    """An agreement whose step is compiled, another one on a copy of its model, and their losses."""
    model = mlp(D, 5, 1).double()
    other = copy.deepcopy(model)
    agreement, eager = Agreement(model, rule, **settings), Agreement(other, rule, **settings)
    return agreement.compile(vectors(model)[0], backend="aot_eager"), eager, vectors(other)[0], model, other


def assert_alike(model, other, record, expected):
    assert record.environments.tolist() == expected.environments.tolist()
    assert record.share_by_parameter == pytest.approx(expected.share_by_parameter)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", SERVED, ids=repr)
def test_rules_of_sums(rule):
    step, eager, losses_of, model, other = pair(rule)
    record = step(X, Y, environments=IDS)
    assert step.reason is None
    assert_alike(model, other, record, eager.backward(losses_of(X, Y), IDS))


@pytest.mark.parametrize("rule", BY_EXAMPLE, ids=repr)
def test_rules_that_ask_how_examples_vary(rule):
    step, eager, losses_of, model, other = pair(rule)
    record = step(X, Y, environments=IDS)
    assert "how the examples of an environment vary" in step.reason
    assert_alike(model, other, record, eager.backward(losses_of(X, Y), IDS))


@pytest.mark.parametrize("normalise", ["tensor", "model", ["0.weight"]])
def test_normalise(normalise):
    step, eager, losses_of, model, other = pair(AndMask(0.6), normalise=normalise)
    record = step(X, Y, environments=IDS)
    assert "normalise" in step.reason
    assert_alike(model, other, record, eager.backward(losses_of(X, Y), IDS))


def test_keep():
    step, eager, losses_of, model, other = pair(AndMask(0.6), keep=["0.weight", "masks"])
    record, expected = step(X, Y, environments=IDS), eager.backward(losses_of(X, Y), IDS)
    assert step.reason is None
    assert_alike(model, other, record, expected)
    for found, wanted in zip(by_input(record), by_input(expected), strict=True):
        torch.testing.assert_close(found, wanted)
    assert all(torch.equal(record.masks[name], expected.masks[name]) for name in expected.masks)


def test_steps_leave_nothing_behind():
    step, *_ = pair(AndMask(0.6))
    step(X, Y, environments=IDS)
    before = len(contextvars.copy_context())
    for _ in range(3):
        step(X, Y, environments=IDS)
    assert step.reason is None
    assert len(contextvars.copy_context()) == before


def test_accumulate():
    step, eager, losses_of, model, other = pair(AndMask(0.6))
    parts = [(slice(0, 6), [0, 1] * 3), (slice(6, 11), [2] * 5), (slice(11, 16), [2, 2, 2, 2, 2])]
    for rows, ids in parts[:2]:
        step.accumulate(X[rows], Y[rows], environments=ids)
        eager.accumulate(losses_of(X[rows], Y[rows]), ids)
    rows, ids = parts[2]
    record, expected = step(X[rows], Y[rows], environments=ids), eager.backward(losses_of(X[rows], Y[rows]), ids)
    assert step.reason is None
    assert_alike(model, other, record, expected)


def test_the_rule_may_change():
    model = mlp(D, 5, 1).double()
    agreement = Agreement(model, AndMask(0.6))
    step = agreement.compile(vectors(model)[0], backend="aot_eager")
    first = step(X, Y, environments=IDS)
    agreement.rule = AndMask(1.0)  # the same graph
    assert sum(step(X, Y, environments=IDS).share_by_parameter.values()) <= sum(first.share_by_parameter.values())
    agreement.rule = SignalToNoiseMask(0.5)  # another
    assert set(step(X, Y, environments=IDS).paths.values()) == {"compiled"}


def test_autocast():
    model = mlp(D, 8, 1)
    losses_of = vectors(model)[0]
    step = Agreement(model, Mean()).compile(losses_of, backend="aot_eager")
    masked = Agreement(model, AndMask(0.0)).compile(losses_of, backend="aot_eager")
    x, y = X.float(), Y.float()
    with torch.autocast("cpu", torch.bfloat16):
        losses = losses_of(x, y)
    sizes = torch.bincount(torch.as_tensor(IDS))[torch.as_tensor(IDS)]
    expected = torch.autograd.grad((losses / sizes).sum() / 4, list(model.parameters()))
    for one in (step, masked):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            one(x, y, environments=IDS)
        assert one.reason is None
        for p, gradient in zip(model.parameters(), expected, strict=True):
            assert p.grad.dtype == torch.float32
            torch.testing.assert_close(p.grad, gradient, rtol=0.05, atol=0.02 * float(gradient.abs().max()))


def test_a_model_in_bfloat16():
    model = mlp(D, 8, 1).bfloat16()
    step = Agreement(model, AndMask(0.0)).compile(vectors(model)[0], backend="aot_eager")
    step(X.bfloat16(), Y.bfloat16(), environments=IDS)
    assert step.reason is None
    assert {p.grad.dtype for p in model.parameters()} == {torch.bfloat16}


def test_grad_scaler():
    model = mlp(D, 8, 1)
    losses_of, scaler = vectors(model)[0], torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(torch.ones(1))  # makes its scale
    step = Agreement(model, AndMask(0.6), refuse_nonfinite=False).compile(
        lambda x, y: losses_of(x, y) * scaler._scale, backend="aot_eager"
    )
    x, y = X.float(), Y.float()
    step(x, y, environments=IDS)
    assert step.reason is None
    scaled = [p.grad / 1024 for p in model.parameters()]
    model.zero_grad()
    Agreement(model, AndMask(0.6)).compile(losses_of, backend="aot_eager")(x, y, environments=IDS)
    for p, gradient in zip(model.parameters(), scaled, strict=True):
        torch.testing.assert_close(p.grad, gradient)
    before = [p.clone() for p in model.parameters()]
    x[0] = torch.inf
    step(x, y, environments=IDS)
    scaler.step(optimizer)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))


def test_dropout_agrees_with_its_own_graph():
    """With one environment a row, of rows that are all equal, gradients differ by what was dropped alone."""
    model = nn.Sequential(nn.Linear(D, 64, bias=False), nn.Dropout(0.5), nn.Linear(64, 1, bias=False)).double()
    step = Agreement(model, Mean()).compile(lambda x: model(x)[:, 0], backend="aot_eager")
    masked = Agreement(model, AndMask(1.0)).compile(lambda x: model(x)[:, 0], backend="aot_eager")
    x = torch.ones(6, D, dtype=torch.float64)
    for one in (step, masked):
        model.zero_grad()
        torch.manual_seed(3)
        one(x, environments=range(6))
        assert one.reason is None
    dropped = (model[0].weight.grad == 0).all(1)
    assert 0.9 < dropped.double().mean() <= 1.0  # all of six kept: one in 64


def test_one_environment_and_a_mean_of_many():
    model, losses_of, batch = made("mlp")
    step = Agreement(model, Mean()).compile(losses_of, backend="aot_eager")
    x = batch(12)
    step(*x, environments=[0] * 6 + [1] * 6)
    assert step.reason is None
    expected = torch.autograd.grad(losses_of(*x).mean(), list(model.parameters()))
    for p, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, gradient)
