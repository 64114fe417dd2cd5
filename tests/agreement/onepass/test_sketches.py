"""Random projections: how small a difference shows, and what does not disturb it."""

import pytest
import torch

from craik.agreement.onepass import sketches
from craik.agreement.onepass.sketches import COLUMNS, sketch


def draw(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, COLUMNS)])
def test_short_rows_are_copied(shape):
    rows = draw(*shape)
    found = sketch(rows)
    assert torch.equal(found, rows.view(3, -1))
    assert found.data_ptr() != rows.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_product_with_the_same_directions_whatever_the_slices(dtype, monkeypatch):
    rows = draw(5, 3, 7, 2, dtype=dtype)
    whole = sketch(rows)
    monkeypatch.setattr(sketches, "_LENGTH", 21)
    sliced = sketch(rows)
    directions = sketch(torch.eye(42, dtype=rows.dtype))
    assert sliced.shape == (5, COLUMNS)
    assert whole.dtype == sliced.dtype == torch.promote_types(dtype, torch.float32)
    torch.testing.assert_close(sliced, rows.flatten(1).to(sliced.dtype) @ directions, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(sketch(rows.transpose(1, 2).contiguous().transpose(1, 2)), sliced)


def test_the_norm_of_a_difference_survives():
    a = draw(80, 300)
    for seed in range(20):
        b = a + 0.01 * draw(80, 300, seed=seed + 1)
        kept = float((sketch(a) - sketch(b)).norm() / (COLUMNS**0.5 * (a - b).norm()))
        assert 0.8 < kept < 1.2
        # The hardest case: one row alone differs.
        b = a.clone()
        b[3] = b[3] * 1.01
        assert float((sketch(a) - sketch(b)).norm()) > 1e-3 * float(a[3].norm())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_shows(value):
    rows = draw(4, 30)
    rows[2, 17] = value
    assert torch.isfinite(sketch(rows)).all(1).tolist() == [True, True, False, True]


def test_the_global_random_stream_is_left_alone():
    state = torch.get_rng_state()
    sketch(draw(3, 50))
    assert torch.equal(torch.get_rng_state(), state)
