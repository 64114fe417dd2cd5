import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import rules_oracles
from mechlearn.agreement.rules import SandMask, Statistics


def statistics(g):
    return Statistics(len(g), g.sum(0), g.sign().sum(0), square=g.square().sum(0))


def stack(seed, environments):
    generator = torch.Generator().manual_seed(seed)
    common, own = (torch.randn(shape, dtype=torch.float64, generator=generator) for shape in ((5, 4), (environments, 5, 4)))
    return 2 * common + own


@given(
    seed=st.integers(0, 10**6),
    environments=st.integers(1, 9),
    tenths=st.integers(0, 10),
    k=st.sampled_from([1e-2, 1.0, 30.0]),
    unbiased=st.booleans(),
    rescale=st.booleans(),
)
def test_every_choice_equals_the_literal_formula(seed, environments, tenths, k, unbiased, rescale):
    g = stack(seed, environments)
    found = SandMask(tenths / 10, k, unbiased, rescale)(statistics(g))
    gradient, mask = rules_oracles.sand_mask(g, f"{tenths}/10", k, unbiased, rescale)
    assert torch.equal(found.survives, mask)
    torch.testing.assert_close(found.gradient, gradient, rtol=1e-10, atol=1e-12)


def test_the_variance_of_the_published_code_is_unbiased():
    g = stack(0, 5)
    published = torch.tanh(1.0 / g.var(0) * (g.sign().mean(0).abs() - 0.2)).clamp(min=0) * g.mean(0)
    torch.testing.assert_close(SandMask(0.2, k=1.0, unbiased=True)(statistics(g)).gradient, published)


def test_equal_gradients_pass_unweighted():
    g = torch.tensor([[1.0, -3.0, 0.0]] * 4)
    found = SandMask(0.9)(statistics(g))
    assert torch.equal(found.gradient, g[0])
    assert found.survives.tolist() == [True, True, False]


def test_agreement_at_the_threshold_is_weight_zero():
    g = torch.cat([torch.full((48, 1), 2.0), -torch.ones(32, 1)])
    assert not SandMask(0.2)(statistics(g)).survives.any()
    assert SandMask(0.19)(statistics(g)).survives.all()


@pytest.mark.parametrize("k", [0.0, -1.0, float("inf"), float("nan")])
def test_steepness_out_of_range(k):
    with pytest.raises(ValueError, match="`k` should be positive and finite"):
        SandMask(k=k)
