"""Environments that come back in later micro-batches, against one backward pass an environment over all micro-batches."""

import random

import pytest
import torch
from torch import nn

import normalise_oracles
import oracles
from held_oracles import whole_gradients
from mechlearn.agreement import (
    Agreement,
    AndMask,
    GeometricMean,
    Homogeneous,
    Mean,
    MedianSign,
    SandMask,
    SignalToNoiseMask,
    StandardErrors,
    XorMask,
)
from small_models import MODELS, batch, make, squared

IDS = [3, 0, 3, 1, 0, 0, 3, 5, 1, 3, 0, 5]
CALLS = (slice(0, 4), slice(4, 5), slice(5, 9), slice(9, 12))
ORDER = [0, 1, 3, 5]
RULES = {"mean": Mean(), "and-mask": AndMask(0.6), "geometric mean": GeometricMean(0.6), "xor-mask": XorMask(0.6)}


def held(agreement, forward, x, y, ids, calls=CALLS):
    for rows in calls[:-1]:
        agreement.accumulate(squared(forward(x[rows]), y[rows]), ids[rows], hold=True)
    return agreement.backward(squared(forward(x[calls[-1]]), y[calls[-1]]), ids[calls[-1]])


def calls_of(forward, x, y, ids):
    return [(squared(forward(x[rows]), y[rows]), ids[rows]) for rows in CALLS]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", MODELS)
def test_equals_the_definition(name, rule):
    model = make(name, 2)
    x, y, ids = batch(2, IDS)
    trained = [p for p in model.parameters() if p.requires_grad]
    stacks = whole_gradients(calls_of(model, x, y, ids), trained)
    agreement = Agreement(model, RULES[rule])
    for _ in range(2):  # nothing is left of the first step
        model.zero_grad()
        record = held(agreement, model, x, y, ids)
        assert record.environments.tolist() == ORDER
        losses = squared(model(x), y).detach()
        torch.testing.assert_close(record.losses, torch.stack([losses[ids == e].mean() for e in ORDER]))
        for parameter, stack in zip(trained, stacks, strict=True):
            if parameter.grad is None:
                assert not stack.any()
                continue
            gradient, _mask = oracles.combine(rule, stack, "0.6")
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rule", [SandMask(0.2), SignalToNoiseMask(0.6), MedianSign(0.3), AndMask(0.6, rescale=True)])
def test_every_rule_of_gradients_sees_what_one_batch_has(rule):
    model, twin = make("recurrent", 3), make("recurrent", 3)
    x, y, ids = batch(3, IDS)
    record = held(Agreement(model, rule), model, x, y, ids)
    expected = Agreement(twin, rule).backward(squared(twin(x), y), ids)
    assert record.share_by_parameter == pytest.approx(expected.share_by_parameter)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None)
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("by", ["tensor", "model", ["head.weight"]])
def test_norms_are_of_whole_gradients(by):
    model = make("mlp", 4)
    x, y, ids = batch(4, IDS)
    named = dict(model.named_parameters())
    stacks = dict(zip(named, whole_gradients(calls_of(model, x, y, ids), list(named.values())), strict=True))
    only = stacks if isinstance(by, str) else {name: stacks[name] for name in by}
    stacks |= normalise_oracles.normalised(only, by if isinstance(by, str) else "tensor")
    held(Agreement(model, AndMask(0.6), normalise=by), model, x, y, ids)
    for name, parameter in named.items():
        gradient, _ = oracles.combine("and-mask", stacks[name], "0.6")
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-9, atol=1e-13)


def test_leaves_outside_receive_the_mean_over_environments():
    model, shift = make("mlp", 5), torch.zeros(5, dtype=torch.float64, requires_grad=True)
    x, y, ids = batch(5, IDS)

    def forward(rows):
        return model(rows + shift)

    (stack,) = whole_gradients(calls_of(forward, x, y, ids), [shift])
    agreement = Agreement(model, AndMask(1.0))
    held(agreement, forward, x, y, ids)
    torch.testing.assert_close(shift.grad, stack.mean(0), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_any_shuffled_loader(seed):
    """Random sizes, ids of any kind, a parameter that some batches do not reach, batch statistics of each micro-batch."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = nn.ModuleDict({"a": nn.Linear(5, 3), "b": nn.Linear(5, 3), "c": nn.BatchNorm1d(3)}).double()
    calls, agreement = [], Agreement(model, AndMask(0.6), statistics="pooled", keep="masks")
    parameters = list(model.parameters())
    for k in range(draw.randint(1, 4)):
        rows = draw.randint(2, 7)
        ids = [draw.choice(["Ulm", "Bonn", "Kiel"]) for _ in range(rows)]
        x, y = torch.randn(rows, 5).double(), torch.randn(rows, 3).double()
        losses = squared(model["c"](model["a"](x)) + (model["b"](x) if k % 2 else 0), y)
        calls.append((losses, ids))
    stacks = whole_gradients(calls, parameters)
    for losses, ids in calls[:-1]:
        agreement.accumulate(losses, ids, hold=True)
    record = agreement.backward(*calls[-1])
    for (name, parameter), stack in zip(model.named_parameters(), stacks, strict=True):
        if parameter.grad is None:
            assert not stack.any()
            continue
        clear = ((stack == 0) | (stack.abs() > 1e-12)).all(0)  # a bias before a normalisation is rounding noise
        gradient, mask = oracles.combine("and-mask", stack, "0.6")
        torch.testing.assert_close(parameter.grad[clear], gradient[clear], rtol=1e-9, atol=1e-12)
        assert torch.equal(record.masks[name][clear], mask[clear])


def test_halves_that_cancel_are_nothing():
    model = nn.Linear(1, 1, bias=False).double()
    agreement = Agreement(model, AndMask(1.0))
    third = torch.full((3, 1), 1 / 3, dtype=torch.float64)
    agreement.accumulate(model(third)[:, 0], [0, 0, 0], hold=True)
    agreement.accumulate(model(third)[:, 0], [1, 1, 1])
    record = agreement.backward(-model(third)[:, 0], [0, 0, 0])
    assert record.environments.tolist() == [0, 1]
    assert model.weight.grad.item() == 0.0


def test_collected_and_given_up():
    model, twin = make("mlp", 1), make("mlp", 1)
    x, y, ids = batch(1, IDS)
    agreement, other = Agreement(model, AndMask(0.6)), Agreement(twin, AndMask(0.6))
    for rows in CALLS:
        agreement.accumulate(squared(model(x[rows]), y[rows]), ids[rows], hold=True)
    with pytest.raises(ValueError, match=r"Found environments accumulated for the next one"):
        agreement.state_dict()
    collected = agreement.collect()
    other.accumulate(squared(twin(x), y), ids)
    assert collected.ids.tolist() == ORDER
    for name, found in other.collect().items():
        torch.testing.assert_close(collected[name].gradient, found.gradient)
        assert torch.equal(collected[name].sign, found.sign)
    agreement.accumulate(squared(model(x), y), ids, hold=True)
    agreement.discard()
    agreement.accumulate(squared(model(x[:4]), y[:4]), ids[:4])
    with pytest.raises(ValueError, match=r"`hold` should be passed from the first call.*Found 3 accumulated without it"):
        agreement.accumulate(squared(model(x[4:]), y[4:]), ids[4:], hold=True)
    with pytest.raises(ValueError, match=r"Found environment 0 in an earlier call.*Pass hold=True"):
        agreement.accumulate(squared(model(x[4:]), y[4:]), ids[4:])


def test_an_error_keeps_what_is_held():
    model, twin = make("mlp", 1), make("mlp", 1)
    x, y, ids = batch(1, IDS)
    agreement = Agreement(model, AndMask(0.6))
    with pytest.raises(ValueError, match="Found shape"):
        agreement.accumulate(squared(model(x), y), ids[:3], hold=True)
    agreement.accumulate(squared(model(x[:4]), y[:4]), ids[:4], hold=True)
    with pytest.raises(ValueError, match="Found shape"):
        agreement.backward(squared(model(x), y), ids[:3])
    agreement.backward(squared(model(x[4:]), y[4:]), ids[4:])
    Agreement(twin, AndMask(0.6)).backward(squared(twin(x), y), ids)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-13)


def test_a_rule_that_asks_how_examples_vary_is_refused():
    model = make("mlp", 0)
    x, y, ids = batch(0, IDS)
    agreement = Agreement(model, Homogeneous(0.3))
    with pytest.raises(ValueError, match=r"`hold` should go with a rule of gradients alone.*Found Homogeneous.*torch\.cat"):
        agreement.accumulate(squared(model(x), y), ids, hold=True)
    assert agreement.backward(squared(model(x), y), ids).share_by_parameter


@pytest.mark.parametrize("rule", [Homogeneous(0.3, errors=StandardErrors("examples")), AndMask(0.6)])
def test_losses_of_several_forward_passes_end_to_end(rule):
    """What the sentence advises: all losses in one call."""
    model, twin = make("mlp", 6), make("mlp", 6)
    x, y, ids = batch(6, IDS)
    Agreement(model, rule).backward(torch.cat([losses for losses, _ in calls_of(model, x, y, ids)]), ids)
    Agreement(twin, rule).backward(squared(twin(x), y), ids)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("as_installed")
def test_hold_is_a_flag():
    model = make("mlp", 0)
    x, y, ids = batch(0, IDS)
    agreement = Agreement(model, AndMask(0.6))
    for call in (agreement.accumulate, agreement.backward):
        with pytest.raises((TypeError, ValueError), match=r"`hold` should be True or False"):
            call(squared(model(x), y), ids, hold="gradients")


@pytest.mark.filterwarnings("ignore:The losses should be traced:UserWarning")
def test_a_compiled_step_goes_on_by_the_eager_engine():
    model, twin = make("mlp", 1), make("mlp", 1)
    x, y, ids = batch(1, IDS)
    agreement = Agreement(model, AndMask(0.6))
    step = agreement.compile(lambda x, y: squared(model(x), y), backend="aot_eager")
    agreement.accumulate(squared(model(x[:4]), y[:4]), ids[:4], hold=True)
    step(x[4:], y[4:], environments=ids[4:])
    assert step.reason is not None
    Agreement(twin, AndMask(0.6)).backward(squared(twin(x), y), ids)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-13)
