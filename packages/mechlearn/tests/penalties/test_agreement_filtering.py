"""`gaf`, against the published algorithm in numbers of Python's."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mechlearn.agreement.torchjd import aggregate
from mechlearn.penalties import gaf
from small_models import batch, make, squared


def literal(rows, threshold):
    mean, agreed = rows[0], False
    for row in rows[1:]:
        product = sum(a * b for a, b in zip(mean, row, strict=True))
        lengths = math.hypot(*mean) * math.hypot(*row)
        if 1 - (product / lengths if lengths else 0.0) <= threshold:
            mean, agreed = [(a + b) / 2 for a, b in zip(mean, row, strict=True)], True
    return mean if agreed else [0.0] * len(mean)


@given(
    seed=st.integers(0, 1000),
    environments=st.integers(1, 6),
    components=st.integers(1, 8),
    threshold=st.sampled_from([0.3, 0.9, 1.0, 1.3, 2.0]),
)
def test_equals_the_literal_algorithm(seed, environments, components, threshold):
    g = torch.randn(environments, components, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(gaf(g, threshold).tolist(), literal(g.tolist(), threshold), rtol=1e-12, atol=1e-12)


def test_the_first_decides_who_is_heard_and_no_agreement_is_no_step():
    g = torch.tensor([[1.0, 0.0], [-1.0, 0.1], [-1.0, -0.1]])
    assert torch.equal(gaf(g), torch.zeros(2))
    assert torch.equal(gaf(g.flip(0)), torch.tensor([-1.0, 0.0]))
    assert torch.equal(gaf(g[:1]), torch.zeros(2))


def test_of_two_that_agree_it_is_the_mean_and_a_gradient_of_0_is_at_a_right_angle():
    assert torch.equal(gaf(torch.tensor([[2.0, 0.0], [0.0, 2.0]])), torch.ones(2))
    assert torch.equal(gaf(torch.tensor([[2.0, 0.0], [0.0, 0.0]])), torch.tensor([1.0, 0.0]))
    assert torch.equal(gaf(torch.tensor([[2.0, 0.0], [0.0, 0.0]]), 0.9), torch.zeros(2))


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e-30), (torch.float32, 1e30), (torch.bfloat16, 1.0)])
def test_any_scale_of_gradients(dtype, scale):
    g = torch.tensor([[1.0, 0.0], [1.0, 2.0], [-3.0, 0.0]], dtype=dtype) * scale
    assert gaf(g).dtype == dtype
    torch.testing.assert_close(gaf(g) / scale, torch.ones(2, dtype=dtype))


def test_a_model_trains_with_it():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 1, 1, 2])
    seen = []
    aggregate(model, squared(model(x), y), ids, lambda g: (seen.append(g), gaf(g, 2.0))[1])
    torch.testing.assert_close(torch.cat([p.grad.flatten() for p in model.parameters()]), gaf(seen[0], 2.0))


@pytest.mark.usefixtures("as_installed")
def test_wrong_arguments_end_in_a_sentence():
    with pytest.raises(ValueError, match=r"`gradients` should have the shape \(E, P\)\. Found \(3,\)"):
        gaf(torch.ones(3))
    with pytest.raises(TypeError, match="`gradients` should hold floating numbers"):
        gaf(torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"`gradients` should be finite\. Found nan"):
        gaf(torch.tensor([[1.0, torch.nan]]))
    for threshold in (-0.1, 2.1):
        with pytest.raises(ValueError, match=r"`threshold` should be .* 1 is usual"):
            gaf(torch.ones(2, 2), threshold)
