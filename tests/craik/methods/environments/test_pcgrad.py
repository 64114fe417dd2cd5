import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import methods_oracles as oracles
from craik.methods.environments import pcgrad, pcgrad_gradients
from small_models import batch, make, squared


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@given(seed=st.integers(0, 1000), environments=st.integers(1, 6), components=st.integers(1, 8))
def test_equals_the_literal_algorithm(seed, environments, components):
    g = torch.randn(environments, components, dtype=torch.float64, generator=seeded(seed))
    generator = seeded(seed + 1)
    orders = [torch.randperm(environments, generator=generator).tolist() for _ in range(environments)]
    torch.testing.assert_close(pcgrad(g, seeded(seed + 1)), oracles.pcgrad(g, orders), rtol=1e-9, atol=1e-10)


def test_without_conflict_it_is_the_sum_and_opposites_cancel():
    g = torch.rand(4, 3)
    torch.testing.assert_close(pcgrad(g, seeded(0)), g.sum(0))
    torch.testing.assert_close(pcgrad(torch.tensor([[1.0, 0.0], [-2.0, 0.0]]), seeded(0)), torch.zeros(2))
    assert torch.equal(pcgrad(torch.zeros(2, 2), seeded(0)), torch.zeros(2))


def test_two_environments_may_come_in_any_order_but_three_depend_on_it():
    g = torch.randn(2, 5, dtype=torch.float64, generator=seeded(3))
    torch.testing.assert_close(pcgrad(g, seeded(0)), pcgrad(g.flip(0), seeded(1)))
    g = torch.tensor([[1.0, 0.2], [-1.0, 0.5], [-0.3, -1.0]])
    assert len({tuple(pcgrad(g, seeded(seed)).tolist()) for seed in range(10)}) > 1


def test_gradients_of_a_model():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 1, 1, 2])
    parameters = list(model.parameters())
    found = pcgrad_gradients(squared(model(x), y), ids, parameters, seeded(5))
    flat = pcgrad(oracles.gradients(model, squared, x, y, ids).detach(), seeded(5))
    torch.testing.assert_close(torch.cat([g.flatten() for g in found]), flat)
    assert [g.shape for g in found] == [p.shape for p in parameters]


def test_what_is_no_matrix_is_refused():
    with pytest.raises(ValueError, match="should be a matrix"):
        pcgrad(torch.ones(3), seeded(0))
