import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import distill_worlds_oracles as oracles
from mechlearn_zoo.tasks.bodies.quantiles import BINS, bin_errors, quantiles


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=20, unique=True), st.floats(-1100, 1100))
def test_quantiles_follow_the_literal_definition(training, value):
    found = quantiles(np.array([value]), np.sort(np.array(training, dtype=float)))
    assert found[0] == pytest.approx(oracles.quantile(value, training), abs=1e-9)


def test_equal_returns_share_the_mean_of_their_ranks():
    assert quantiles(np.array([1.0]), np.array([0.0, 1.0, 1.0, 2.0]))[0] == pytest.approx(0.5)
    assert quantiles(np.array([7.0]), np.array([7.0, 7.0]))[0] == pytest.approx(0.5)


def test_errors_follow_the_literal_definition():
    logits = torch.randn(6, BINS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.tensor([0, 31, 4, 9, 16, 17])
    expected = [oracles.bin_error(row, place) for row, place in zip(logits.tolist(), y.tolist(), strict=True)]
    torch.testing.assert_close(bin_errors(logits, y), torch.tensor(expected, dtype=torch.float64))
