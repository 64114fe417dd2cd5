import pytest
import torch

from mechlearn.scaling import in_range, lengths, power_of_two, row_powers, widened


def test_powers_of_two_below_what_is_given():
    found = power_of_two(torch.tensor([0.0, 1.0, 3.0, 0.2, torch.inf, torch.nan]))
    assert found.tolist() == [1.0, 1.0, 2.0, 0.125, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_keep_their_digits_and_lengths_their_scale(dtype):
    rows = torch.randn(5, 7, generator=torch.Generator().manual_seed(0), dtype=dtype)
    for scale in (2.0**-100, 1.0, 2.0**100):
        assert torch.equal(in_range(rows * scale), in_range(rows))
        assert torch.equal(lengths(rows * scale), lengths(rows) * scale)
    torch.testing.assert_close(lengths(rows)[:, 0], rows.norm(dim=1))


def test_rows_of_zeros_or_of_nothing():
    assert row_powers(torch.zeros(2, 3)).tolist() == [[1.0], [1.0]]
    assert lengths(torch.zeros(2, 0)).tolist() == [[0.0], [0.0]]


def test_halves_are_widened_and_others_left():
    assert widened(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.float32
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bool):
        assert widened(torch.ones(2, dtype=dtype)).dtype == dtype
