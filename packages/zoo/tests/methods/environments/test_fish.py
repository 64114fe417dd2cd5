import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call

import methods_oracles as oracles
from mechlearn_zoo.methods.environments import fish_gradients
from small_models import batch, make, squared


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def of_model(model, x, y, ids):
    """Each environment's mean loss as `fish_gradients` wants it."""
    return lambda parameters, e: squared(functional_call(model, parameters, (x[ids == e],)), y[ids == e]).mean()


@given(seed=st.integers(0, 1000), rate=st.floats(0.01, 0.5))
def test_equals_the_literal_algorithm(seed, rate):
    model = make("mlp", seed % 7)
    x, y, ids = batch(seed % 7, [0, 1, 1, 2])
    before = [p.detach().clone() for p in model.parameters()]
    order = torch.randperm(3, generator=seeded(seed)).tolist()
    found = fish_gradients(of_model(model, x, y, ids), dict(model.named_parameters()), 3, rate, seeded(seed))
    wanted = oracles.fish(model, squared, x, y, ids, order, rate)
    for own, other in zip(found.values(), wanted, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-9)
    assert all(torch.equal(one, p) and p.grad is None for one, p in zip(before, model.parameters(), strict=True))


def test_small_inner_steps_are_averaging_and_larger_ones_prefer_products():
    """To first order in the rate it is the mean gradient less rate / (2 E) times the gradient of the products over pairs."""
    theta = torch.tensor([0.3, -0.7], dtype=torch.float64)
    a = torch.tensor([[[2.0, 0.4], [0.4, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]], dtype=torch.float64)
    b = torch.tensor([[1.0, 0.0], [-0.5, 2.0]], dtype=torch.float64)

    def loss(parameters, e):
        return parameters["w"] @ a[e] @ parameters["w"] / 2 + b[e] @ parameters["w"]

    gradients = a @ theta + b
    products = a[0] @ gradients[1] + a[1] @ gradients[0]  # of g_0 . g_1
    rate = 1e-3
    orders = {}
    for seed in range(20):
        orders[tuple(torch.randperm(2, generator=seeded(seed)).tolist())] = fish_gradients(
            loss, {"w": theta}, 2, rate, seeded(seed)
        )["w"]
    assert len(orders) == 2
    wanted = gradients.mean(0) - rate / 4 * products
    torch.testing.assert_close(sum(orders.values()) / 2, wanted, rtol=1e-9, atol=1e-12)


def test_what_does_not_fit_is_refused():
    def loss(parameters, _):
        return parameters["w"].sum()

    with pytest.raises(ValueError, match="`environments` should be"):
        fish_gradients(loss, {"w": torch.ones(2)}, 0, 0.1, seeded(0))
    with pytest.raises(ValueError, match=r"`rate` should be positive.*Begin with the learning rate"):
        fish_gradients(loss, {"w": torch.ones(2)}, 2, 0.0, seeded(0))


@pytest.mark.usefixtures("as_installed")
def test_no_generator_is_not_the_global_one():
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        fish_gradients(lambda parameters, _: parameters["w"].sum(), {"w": torch.ones(2)}, 2, 0.1, None)
