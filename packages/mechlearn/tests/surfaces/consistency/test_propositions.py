import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mechlearn.surfaces.consistency.propositions import (
    proposition_1_bound,
    proposition_2_bound,
    proposition_2_rate,
    proposition_3_bound,
    proposition_3_inconsistency,
)

spectra = st.lists(st.floats(-4, 4), min_size=1, max_size=6)


def diagonal(exponents):
    return torch.tensor([math.exp(x) for x in exponents], dtype=torch.float64).diag()


def masked_descent(a, b, threshold_count, learning_rate, steps):
    """AND-masked gradient descent on the mean of E quadratics 1/2 |A_e (x - b_e)|^2; the least squared masked gradient."""
    x, least, loss0 = torch.zeros(a.shape[-1], dtype=torch.float64), math.inf, None
    for _ in range(steps):
        g = torch.stack([(H @ (x - c)) for H, c in zip(a, b, strict=True)])
        loss = sum(0.5 * (x - c) @ H @ (x - c) for H, c in zip(a, b, strict=True)) / len(a)
        loss0 = float(loss) if loss0 is None else loss0
        masked = g.mean(0) * (g.sign().sum(0).abs() >= threshold_count)
        least = min(least, float(masked.square().sum()))
        x = x - learning_rate * masked
    return loss0, least


@given(seed=st.integers(0, 10**6), steps=st.integers(1, 30), count=st.integers(0, 3))
def test_proposition_1_holds(seed, steps, count):
    generator = torch.Generator().manual_seed(seed)
    r = torch.randn(3, 4, 4, dtype=torch.float64, generator=generator)
    a, b = r @ r.mT, torch.randn(3, 4, dtype=torch.float64, generator=generator)
    smoothness = float(torch.linalg.eigvalsh(a.mean(0))[-1])
    loss0, least = masked_descent(a, b, count, 1 / smoothness, steps)
    assert least <= proposition_1_bound(loss0, 1 / smoothness, steps, smoothness)


def test_the_printed_middle_term_of_proposition_1_is_too_small():
    """On L = x^2 / 2 + c with a tiny step every gradient is about 1: the least is not below eta / 2 of the mean."""
    eta, k, x = 1e-3, 5, 1.0
    norms = []
    for _ in range(k):
        norms.append(x * x)
        x -= eta * x
    assert min(norms) > sum(eta / 2 * norm for norm in norms) / k


@pytest.mark.parametrize(("rate", "loss", "steps"), [(0.6, 1.0, 1), (0.0, 1.0, 1), (0.5, -1.0, 1), (0.5, 1.0, 0)])
def test_proposition_1_refuses(rate, loss, steps):
    with pytest.raises(ValueError, match="Found"):
        proposition_1_bound(loss, rate, steps, smoothness=2.0)


@pytest.mark.parametrize(("d", "t"), [(1, 1), (2, 2), (8, 8), (8, 6), (12, 7)])
def test_proposition_2_against_simulation(d, t):
    g = torch.randn(200_000, d, dtype=torch.float64, generator=torch.Generator().manual_seed(d))
    positive = (g > 0).sum(1)
    kept = (positive >= t) | (positive <= d - t)
    found = float((g.mean(1) * kept).square().mean())
    assert found <= proposition_2_bound(d, t)
    assert proposition_2_bound(d, t, sigma=3.0) == 9 * proposition_2_bound(d, t)
    if t == d:
        assert proposition_2_bound(d, t, "printed") == 0 < found


def test_the_rate_of_proposition_2():
    """C(d, t) / 2^d falls like (q / 2)^d; n / (2 - q)^d does not fall at all."""
    for share in (0.6, 0.8, 0.9):
        d, t = 4000, round(4000 * share)
        log_rate = (math.lgamma(d + 1) - math.lgamma(t + 1) - math.lgamma(d - t + 1)) / d - math.log(2)
        assert proposition_2_rate(share) == pytest.approx(math.exp(log_rate), rel=2e-3)
        assert proposition_2_rate(share) < 1 <= proposition_2_rate(share, "printed")
    assert proposition_2_rate(0.8) == pytest.approx(0.82, abs=0.01)
    assert proposition_2_rate(1.0) == 0.5
    assert proposition_2_rate(0.5) == pytest.approx(1.0)


@given(a=spectra, seed=st.integers(0, 10**6))
def test_proposition_3_corrected_always_holds(a, seed):
    b = (4 * torch.randn(len(a), generator=torch.Generator().manual_seed(seed))).tolist()
    for subtract in (False, True):
        inconsistency = proposition_3_inconsistency(diagonal(a), diagonal(b), 0.1, subtract)
        assert inconsistency <= proposition_3_bound(diagonal(a), diagonal(b), 0.1) * (1 + 1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_proposition_3_needs_no_common_eigenvectors(seed, n):
    r = torch.randn(2, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    a, b = r @ r.mT + 0.01 * torch.eye(n)
    assert proposition_3_inconsistency(a, b) <= proposition_3_bound(a, b) * (1 + 1e-9)


def test_proposition_3_as_printed_fails_in_one_dimension():
    a, b = torch.tensor([[1.0]]), torch.tensor([[10.0]])
    assert proposition_3_inconsistency(a, b) == pytest.approx(10)
    assert proposition_3_inconsistency(a, b, subtract=True) == pytest.approx(9)
    assert proposition_3_bound(a, b, form="printed") == pytest.approx(6.05)
    assert proposition_3_bound(a, b) == pytest.approx(12.1)


def test_proposition_3_bound_is_tight():
    """One dimension and a growing ratio: the corrected bound is reached in the limit, twice the printed one."""
    a, b = torch.tensor([[1.0]]), torch.tensor([[1e6]])
    assert proposition_3_inconsistency(a, b) / proposition_3_bound(a, b) == pytest.approx(1, abs=1e-5)
    assert proposition_3_inconsistency(a, b) / proposition_3_bound(a, b, form="printed") == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize(("first", "ratio"), [((0.01, 1.0), 25.5), ((0.05, 1.0), 5.5)])
def test_the_ratios_in_the_captions(first, ratio):
    """Erratum 3: 25.5 and 5.5 as determinants; areas go with their roots, 5.05 and 2.35."""
    a, b = torch.tensor(first).diag(), torch.tensor(first[::-1]).diag()
    found = math.sqrt(proposition_3_bound(a, b) / 4)
    assert found == pytest.approx(ratio, abs=0.02)
    assert math.sqrt(found) == pytest.approx({25.5: 5.05, 5.5: 2.35}[ratio], abs=0.01)


def test_bad_arguments(as_installed):
    one = torch.eye(2)
    with pytest.raises(ValueError, match=r"hessian_b.*positive definite.*eigenvalue 0"):
        proposition_3_bound(one, torch.zeros(2, 2))
    for place in (0, 1):
        given = [one, one]
        given[place] = torch.full((2, 2), math.nan)
        for find in (proposition_3_bound, proposition_3_inconsistency):
            with pytest.raises(ValueError, match=f"`hessian_{'ab'[place]}` should be finite"):
                find(*given)
    with pytest.raises(ValueError, match=r"`hessian_b` should have the shape \(2, 2\)\. Found \(3, 3\)"):
        proposition_3_bound(one, torch.eye(3))
    with pytest.raises(TypeError, match="`hessian_a` should hold data"):
        proposition_3_bound(one.to("meta"), one)
    with pytest.raises(ValueError, match=r"epsilon.*positive"):
        proposition_3_bound(one, one, epsilon=0.0)
    for t in (3, 4, 9):
        with pytest.raises(ValueError, match=r"`t` should be more than d / 2 and at most d = 8"):
            proposition_2_bound(8, t)
    with pytest.raises(ValueError, match=r"`share` should"):
        proposition_2_rate(1.1)
