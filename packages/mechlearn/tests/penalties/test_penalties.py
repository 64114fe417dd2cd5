"""Every penalty and its gradient against the literal formula; the theorems that penalties share."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import methods_oracles as oracles
from mechlearn.penalties import fishr_penalty, irm_penalty, vrex_penalty
from small_models import batch, squared


def build():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def penalty(name, model, x, y, ids):
    if name == "irm":
        return irm_penalty(model(x), y, ids, squared)
    features = model[:2](x)
    logits = model[2](features)
    losses = squared(logits, y)
    if name == "vrex":
        return vrex_penalty(losses, ids)
    return fishr_penalty(losses, ids, features, logits)


def literal(name, model, x, y, ids):
    if name == "fishr":
        return oracles.fishr(model, model[2], squared, x, y, ids)
    return getattr(oracles, name)(model, squared, x, y, ids)


IDS = st.lists(st.integers(0, 3), min_size=3, max_size=9).filter(lambda ids: len(set(ids)) > 1)
NAMES = ["irm", "vrex", "fishr"]


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 1000), ids=IDS)
def test_value_and_gradient_equal_the_literal_formula(name, seed, ids):
    model = build()
    x, y, ids = batch(seed, ids)
    found, expected = penalty(name, model, x[:, 0], y, ids), literal(name, model, x[:, 0], y, ids)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    parameters = list(model.parameters())
    one, other = (torch.autograd.grad(value, parameters, allow_unused=True) for value in (found, expected))
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a if a is not None else b * 0, b if b is not None else a * 0, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_order_names_and_copies_of_environments_change_nothing(name):
    model = build()
    x, y, ids = batch(1, [0, 0, 1, 2, 2, 2])
    x = x[:, 0]
    plain = penalty(name, model, x, y, ids)
    order = torch.tensor([5, 2, 0, 4, 1, 3])
    renamed = torch.tensor([7, -1, 3])[ids]
    torch.testing.assert_close(penalty(name, model, x[order], y[order], renamed[order]), plain, rtol=1e-10, atol=1e-14)
    twice = penalty(name, model, torch.cat([x, x]), torch.cat([y, y]), torch.cat([ids, ids + 10]))
    torch.testing.assert_close(twice, plain, rtol=1e-10, atol=1e-14)
    assert plain > 0


@pytest.mark.parametrize("name", ["vrex", "fishr"])
def test_equal_environments_cost_nothing_and_one_is_refused(name):
    model = build()
    x, y, _ = batch(1, [0, 0, 0])
    x, y = torch.cat([x, x])[:, 0], torch.cat([y, y])
    assert penalty(name, model, x, y, torch.tensor([0, 0, 0, 1, 1, 1])).item() == pytest.approx(0, abs=1e-20)
    with pytest.raises(ValueError, match=r"at least 2 environments. Found 1"):
        penalty(name, model, x, y, torch.zeros(6, dtype=torch.int64))


def test_bad_losses_and_ids_are_refused():
    losses = torch.rand(3)
    with pytest.raises(ValueError, match="one unreduced loss"):
        vrex_penalty(losses.mean(), [0, 1, 2])
    with pytest.raises(TypeError, match=r"one id for each example.*float32"):
        vrex_penalty(losses, torch.rand(3))
    with pytest.raises(ValueError, match=r"one id for each of the 3 losses, .* Found shape \(2,\)"):
        vrex_penalty(losses, [0, 1])


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"outputs": None}, "`outputs` should be a tensor and have the shape"),
        ({"outputs": torch.ones(3, 2).long()}, "`outputs` should hold floating numbers"),
        ({"outputs": torch.ones(3, 2, device="meta")}, "`outputs` should hold data"),
        ({"targets": [1, 2, 3]}, "`targets` should be a tensor"),
        ({"targets": torch.ones(4)}, r"`targets` should have the shape \(3,\)\. Found \(4,\)\. One for each example"),
        ({"loss": 3}, "`loss` should be a function from outputs and targets to one loss for each example"),
        ({"loss": lambda outputs, targets: None}, r"`loss` should return one unreduced loss for each example, shape \(3,\)"),
        ({"loss": lambda outputs, targets: targets.long()}, r"`loss` should return floats\. Found torch\.int64"),
    ],
)
def test_irm_names_what_it_cannot_read(changes, sentence):
    given = {"outputs": torch.ones(3, 2), "targets": torch.ones(3), "environments": [0, 0, 1], "loss": squared} | changes
    with pytest.raises((TypeError, ValueError), match=sentence):
        irm_penalty(**given)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"features": None}, "`features` should be a tensor and have the shape"),
        ({"features": torch.ones(4, 4).double()}, r"`features` should have the shape \(3, I\)\. Found \(4, 4\)"),
        ({"features": torch.ones(3, 4)}, r"`features` should be of the type torch\.float64"),
        ({"logits": torch.ones(3).double()}, r"`logits` should have the shape \(3, O\)\. Found \(3,\)"),
        ({"logits": torch.ones(3, 3).double()}, "`losses` should be computed from `logits`. Found no graph between them"),
        ({"losses": torch.ones(3).double()}, "Found losses without a graph"),
    ],
)
def test_fishr_names_what_it_cannot_read(changes, sentence):
    features = torch.ones(3, 4).double()
    logits = nn.Linear(4, 3).double()(features)
    given = {"losses": logits.square().sum(1), "environments": [0, 0, 1], "features": features, "logits": logits} | changes
    with pytest.raises((TypeError, ValueError), match=sentence):
        fishr_penalty(**given)
