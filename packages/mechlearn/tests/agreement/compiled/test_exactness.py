"""The compiled step against the definition, through `aot_eager` and, for a few networks, through Inductor."""

import os

import pytest
import torch

from compiled_oracles import assert_step
from mechlearn.agreement import Agreement, AndMask
from traced_models import CASES, made, scattered

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch deprecates

THROUGH_INDUCTOR = list(CASES) if os.environ.get("MECHLEARN_TRACED") else ["weight norm"]
"""All of them where the variable is set: minutes of compilers."""

DYNAMIC = ("rows flattened with steps", "convolutions in one dimension")
"""Which are traced again with symbols for sizes."""


def step_of(model, losses_of, backend="aot_eager"):
    return Agreement(model, AndMask(0.6)).compile(losses_of, backend=backend)


@pytest.mark.parametrize("name", CASES)
def test_environments_unequal_and_in_any_order(name):
    model, losses_of, batch = made(name)
    step = step_of(model, losses_of)
    for environments in (3, 5):  # the second is the same graph
        assert_step(step, model, losses_of, batch(12, environments), scattered(12, environments))


@pytest.mark.parametrize("name", ["mlp", "class token and positions"])
def test_float32(name):
    model, losses_of, batch = made(name, torch.float32)
    assert_step(step_of(model, losses_of), model, losses_of, batch(12), scattered(12, 4))


@pytest.mark.parametrize("name", DYNAMIC if not os.environ.get("MECHLEARN_TRACED") else CASES)
def test_other_numbers_of_rows(name):
    model, losses_of, batch = made(name)
    step = step_of(model, losses_of)
    for rows, environments in ((12, 3), (20, 4), (15, 15)):
        assert_step(step, model, losses_of, batch(rows), scattered(rows, environments))


@pytest.mark.parametrize("name", THROUGH_INDUCTOR)
def test_through_inductor(name):
    model, losses_of, batch = made(name)
    step = step_of(model, losses_of, "inductor")
    assert_step(step, model, losses_of, batch(12), scattered(12, 3))
    assert_step(step, model, losses_of, batch(12, 1), scattered(12, 6, 1))


def test_every_row_an_environment():
    model, losses_of, batch = made("layer norm", torch.float32)
    step = step_of(model, losses_of)
    assert_step(step, model, losses_of, batch(12), list(range(12)))


def test_more_environments_than_bytes_count():
    model, losses_of, batch = made("mlp")
    step = step_of(model, losses_of)
    for environments in (126, 127):
        assert_step(step, model, losses_of, batch(160), scattered(160, environments))


def test_gradients_are_added_and_losses_are_the_eager_ones():
    model, losses_of, batch = made("mlp")
    agreement = Agreement(model, AndMask(0.6))
    step, x, ids = agreement.compile(losses_of, backend="aot_eager"), batch(12), scattered(12, 3)
    eager = agreement.backward(losses_of(*x), ids)
    once = [p.grad.clone() for p in model.parameters()]
    record = step(*x, environments=ids)
    assert record.environments.tolist() == eager.environments.tolist() == [0, 1, 2]
    torch.testing.assert_close(record.losses, eager.losses)
    assert record.share_by_parameter == eager.share_by_parameter
    for p, before in zip(model.parameters(), once, strict=True):
        torch.testing.assert_close(p.grad, 2 * before)


def test_ids_of_any_kind():
    model, losses_of, batch = made("mlp")
    step = step_of(model, losses_of)
    record = step(*batch(6), environments=["rome", "oslo", "rome", "oslo", "bonn", "bonn"])
    assert record.environments == ("bonn", "oslo", "rome")
    assert step.reason is None


def test_tensors_outside_the_model_get_the_plain_mean_gradient():
    model, losses_of, batch = made("mlp")
    outside = torch.ones((), dtype=torch.float64, requires_grad=True)
    step = step_of(model, lambda x, y: losses_of(x, y) * outside)
    x, ids = batch(12), scattered(12, 3)
    record = step(*x, environments=ids)
    torch.testing.assert_close(outside.grad, record.losses.mean())


def test_frozen_and_unreached_parameters_are_left_alone():
    model, _, batch = made("mlp")
    model.idle = torch.nn.Linear(2, 2).double()
    model[0].weight.requires_grad_(False)

    def of_layers(x, y):
        for layer in list(model)[:-1]:
            x = layer(x)
        return (x - y).square().mean(1)

    step = step_of(model, of_layers)
    record = step(*batch(12), environments=scattered(12, 3))
    assert step.reason is None
    assert set(record.paths) == {"0.bias", "2.weight", "2.bias", "4.weight", "4.bias"}
    assert model.idle.weight.grad is None
    assert model[0].weight.grad is None


def test_trees_of_tensors():
    model, losses_of, batch = made("mlp")

    def of_tree(data, factor):
        return factor * losses_of(data["x"], data["y"][0])

    x, y = batch(12)
    step, ids = step_of(model, of_tree), scattered(12, 3)
    assert_step(step, model, of_tree, ({"x": x, "y": [y]}, 2.0), ids)
