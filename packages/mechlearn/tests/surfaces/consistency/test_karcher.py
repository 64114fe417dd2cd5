import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import consistency_oracles as oracles
from mechlearn.surfaces import karcher_mean


def positive(seed, count, n, spread=2.0):
    """Random positive definite matrices with eigenvalues over about `spread` powers of e to either side of 1."""
    generator = torch.Generator().manual_seed(seed)
    q, _ = torch.linalg.qr(torch.randn(count, n, n, dtype=torch.float64, generator=generator))
    values = (spread * torch.randn(count, n, dtype=torch.float64, generator=generator)).exp()
    return (q * values[:, None]) @ q.mT


@given(seed=st.integers(0, 10**6), count=st.integers(1, 5), n=st.integers(1, 5), spread=st.sampled_from([0.3, 2.0, 3.0]))
def test_the_defining_equation(seed, count, n, spread):
    a = positive(seed, count, n, spread)
    x = karcher_mean(a)
    residual = oracles.karcher_residual(a, x)
    condition = float(torch.linalg.cond(a).max())
    assert float(residual.abs().max()) <= 1e-9 * max(1.0, condition * 1e-5)


def test_matrices_that_commute_have_the_geometric_means_of_their_eigenvalues():
    values = torch.tensor([[1.0, 4.0, 9.0], [1.0, 1.0, 1e-4]], dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    x = karcher_mean((q * values[:, None]) @ q.T)
    torch.testing.assert_close(x, (q * values.prod(0).sqrt()) @ q.T, rtol=1e-10, atol=1e-12)


def test_two_matrices_have_the_closed_form():
    """A^(1/2) (A^(-1/2) B A^(-1/2))^(1/2) A^(1/2)."""
    a, b = positive(3, 2, 4)
    torch.testing.assert_close(karcher_mean(torch.stack([a, b])), oracles.geometric_mean_of_two(a, b), rtol=1e-9, atol=1e-12)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_order_copies_and_changes_of_basis(seed):
    a = positive(seed, 3, 3)
    x = karcher_mean(a)
    close = {"rtol": 1e-7, "atol": 1e-9}
    torch.testing.assert_close(karcher_mean(a[[2, 0, 1]]), x, **close)
    torch.testing.assert_close(karcher_mean(torch.cat([a, a])), x, **close)
    basis = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 2 * torch.eye(3)
    torch.testing.assert_close(karcher_mean(basis @ a @ basis.T), basis @ x @ basis.T, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(karcher_mean(torch.linalg.inv(a)), torch.linalg.inv(x), rtol=1e-6, atol=1e-8)


def test_bad_matrices_are_named(as_installed):
    good = torch.eye(2)
    with pytest.raises(ValueError, match=r"positive definite.*eigenvalue -1 in number 1.*identity"):
        karcher_mean(torch.stack([good, torch.tensor([[1.0, 0.0], [0.0, -1.0]])]))
    with pytest.raises(ValueError, match=r"symmetric.*number 0"):
        karcher_mean(torch.tensor([[[1.0, 0.5], [0.0, 1.0]]]))
    with pytest.raises(RuntimeError, match=r"residual.*iterations"):
        karcher_mean(positive(0, 3, 3), iterations=1)
    with pytest.raises(TypeError, match="`matrices` should hold data"):
        karcher_mean(torch.ones(2, 2, 2, device="meta"))
    for wrong in (torch.eye(2), torch.zeros(0, 2, 2), torch.ones(1, 2, 3)):
        with pytest.raises(ValueError, match=r"`matrices` should have the shape \(k, n, n\)\. Found"):
            karcher_mean(wrong)
