"""Spot checks of the compiled step: an operation that is treated wrongly is found."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean
from mechlearn.agreement.compiled.tables import RULES
from mechlearn.agreement.rules import SignalToNoiseMask
from traced_models import D, made, mlp, scattered, vectors

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch deprecates
RULES_OF = [AndMask(0.6), GeometricMean(0.2), SignalToNoiseMask(0.5)]
IDS = scattered(12, 3)


def step_of(model, losses_of, rule, backend="aot_eager"):
    return Agreement(model, rule, verify=2).compile(losses_of, backend=backend)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *(("mlp", rule) for rule in RULES_OF),
        *((name, RULES_OF[0]) for name in ("weight norm", "attention", "second derivatives by autograd")),
    ],
    ids=str,
)
def test_what_is_right_passes_and_is_left_as_it_is(name, rule):
    model, losses_of, batch = made(name)
    x, step = batch(12), step_of(model, losses_of, rule)
    found: list[list[torch.Tensor]] = []
    for proved in ("checked", "proved", "checked"):
        model.zero_grad()
        assert step(*x, environments=IDS).proved == proved
        assert step.reason is None
        found.append([p.grad for p in model.parameters() if p.grad is not None])
    for one, other in zip(found[0], found[1], strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("rule", RULES_OF, ids=repr)
def test_a_rule_of_an_operation_that_is_wrong_is_found(rule, monkeypatch):
    monkeypatch.setitem(RULES, "prims.rev", lambda call: call.tag(call.operands[0]))
    model = mlp(D, 8, 1).double()
    step = step_of(model, lambda x: (model[2](torch.tanh(model[0](x).flip(0) + model[0](x)))[:, 0] - 1) ** 2, rule)
    with pytest.raises(ValueError, match=r"Found another one of '0\.(weight|bias)' in environment 0"):
        step(torch.randn(12, D, dtype=torch.float64), environments=IDS)
    assert all(p.grad is None for p in model.parameters())


def test_buffers_that_a_forward_pass_changes_change_once():
    models = []
    for verify in (None, 1):
        torch.manual_seed(0)
        model = nn.Sequential(parametrizations.spectral_norm(nn.Linear(D, 8)), nn.Tanh(), nn.Linear(8, 1)).double()
        losses_of, batch = vectors(model)[0], torch.ones(6, D, dtype=torch.float64) / torch.arange(1, 7)[:, None]
        step = Agreement(model, AndMask(0.6), verify=verify).compile(losses_of, backend="aot_eager")
        record = step(batch, torch.zeros(6, 1, dtype=torch.float64), environments=[0, 0, 0, 1, 1, 1])
        models.append((model, record, step.reason))
    (one, _, reason), (other, record, same) = models
    assert reason == same
    assert reason is not None or record.proved == "checked"
    for a, b in zip((*one.buffers(), *one.parameters()), (*other.buffers(), *other.parameters()), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_losses_that_draw_are_not_checked_and_draw_once():
    model = nn.Sequential(nn.Linear(D, 8), nn.Dropout(0.5), nn.Linear(8, 1)).double()
    losses_of, x = vectors(model)[0], (torch.ones(12, D, dtype=torch.float64), torch.zeros(12, 1, dtype=torch.float64))
    step = step_of(model, losses_of, AndMask(0.6))
    states = []
    for proved in ("proved", "proved"):
        torch.manual_seed(1)
        assert step(*x, environments=IDS).proved == proved
        states.append(torch.get_rng_state())
    assert step.reason is None
    assert torch.equal(*states)


def test_a_mean_keeps_nothing_apart():
    model, losses_of, batch = made("mlp")
    assert step_of(model, losses_of, Mean())(*batch(12), environments=IDS).proved == "proved"
