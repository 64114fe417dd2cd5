import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import methods_oracles as oracles
from mechlearn.penalties import pcgrad, pcgrad_gradients
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
    with pytest.raises(ValueError, match=r"`gradients` should have the shape \(E, P\)\. Found \(3,\)"):
        pcgrad(torch.ones(3), seeded(0))


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e-25), (torch.float32, 1e25), (torch.float16, 300.0)])
def test_what_conflicts_is_projected_at_any_scale(dtype, scale):
    g = torch.tensor([[1.0, 0.0], [-1.0, 0.5]], dtype=dtype) * scale
    wanted = oracles.pcgrad(g.double(), [[0, 1], [0, 1]]) / scale
    found = pcgrad(g, seeded(0))
    assert found.dtype == dtype
    torch.testing.assert_close(found.double() / scale, wanted, rtol=1e-3, atol=1e-6)


def test_of_rows_of_unlike_lengths_each_direction_counts():
    g = torch.tensor([[1.0, 0.0, 0.0], [-1e-25, 1e-25, 0.0], [0.0, 1e25, 1e25]])
    orders = [torch.randperm(3, generator=(generator := seeded(0))).tolist() for _ in range(1)]
    orders += [torch.randperm(3, generator=generator).tolist() for _ in range(2)]
    torch.testing.assert_close(pcgrad(g, seeded(0)).double(), oracles.pcgrad(g.double(), orders), rtol=1e-6, atol=1e-30)


def test_float32_has_the_products_of_its_own_type():
    g = torch.randn(4, 200, generator=seeded(0)) * 10.0 ** torch.arange(-4, 4)[:, None].float()[:4]
    gram, weights, generator = (g @ g.T).double(), torch.eye(4, dtype=torch.float64), seeded(1)
    for i in range(4):
        for j in torch.randperm(4, generator=generator).tolist():
            product = weights[i] @ gram[j]
            if j != i and product < 0:
                weights[i, j] -= product / gram[j, j]
    assert torch.equal(pcgrad(g, seeded(1)), weights.sum(0).float() @ g)


@pytest.mark.usefixtures("as_installed")
def test_no_generator_is_not_the_global_one():
    for wrong in (None, [[1.0]], torch.ones(2, 2, dtype=torch.int64)):
        with pytest.raises(TypeError, match=r"`gradients` should (be a tensor and have the shape|hold floating numbers)"):
            pcgrad(wrong, seeded(0))
    with pytest.raises(TypeError, match="`gradients` should hold data"):
        pcgrad(torch.ones(2, 2, device="meta"), seeded(0))
    with pytest.raises(TypeError, match=r"`parameters` should be a list of tensors.* Pass list\(model\.parameters\(\)\)"):
        pcgrad_gradients(torch.ones(2), [0, 1], iter([]), seeded(0))
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        pcgrad(torch.ones(2, 2), None)
