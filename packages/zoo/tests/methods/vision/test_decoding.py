import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from mechlearn_zoo.methods.vision.decoding import FeatureDecoder, correlations, lagged, match_spread, pairwise_identification


def data(n, v, u, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, v, dtype=torch.float64, generator=generator) + 3
    noise = torch.randn(n, u, dtype=torch.float64, generator=generator)
    return x, x @ torch.randn(v, u, dtype=torch.float64, generator=generator) + noise - 5


@pytest.mark.parametrize(("n", "v"), [(40, 7), (12, 30)])
def test_it_is_sklearns_ridge(n, v):
    x, y = data(n, v, 5)
    peer = Ridge(alpha=3.0).fit(x.numpy(), y.numpy())
    found = FeatureDecoder(3.0).fit(x, y)
    np.testing.assert_allclose(found.weights.T, peer.coef_, atol=1e-10)
    np.testing.assert_allclose(found.predict(x), peer.predict(x.numpy()), atol=1e-9)


def test_own_voxels_are_the_best_correlated_ones():
    x, y = data(50, 9, 70)
    found = FeatureDecoder(2.0, voxels=4).fit(x, y)
    for unit in range(70):
        r = [abs(np.corrcoef(x[:, j], y[:, unit])[0, 1]) for j in range(9)]
        best = sorted(np.argsort(r)[-4:].tolist())
        peer = Ridge(alpha=2.0).fit(x[:, best].numpy(), y[:, unit].numpy())
        assert found.weights[:, unit].nonzero().flatten().tolist() == best
        np.testing.assert_allclose(found.weights[best, unit], peer.coef_, atol=1e-10)
        assert float(found.intercepts[unit]) == pytest.approx(peer.intercept_)


def test_all_voxels_are_no_choice():
    x, y = data(20, 6, 3)
    assert torch.equal(FeatureDecoder(1.0, voxels=6).fit(x, y).weights, FeatureDecoder(1.0).fit(x, y).weights)


def test_lags_are_literal():
    x = torch.arange(1.0, 13).reshape(6, 2)
    found = lagged(x, [-1, 0, 2])
    for t in range(6):
        wanted = [x[t + lag, j] if 0 <= t + lag < 6 else 0.0 for lag in (-1, 0, 2) for j in range(2)]
        assert found[t].tolist() == wanted


def test_spread():
    found = match_spread(torch.randn(5, 30, generator=torch.Generator().manual_seed(0)), 2.5)
    torch.testing.assert_close(found.std(1), torch.full((5,), 2.5))


def test_pairwise_identification_is_literal():
    generator = torch.Generator().manual_seed(0)
    truths = torch.randn(6, 3, 4, generator=generator)
    found = truths + 2 * torch.randn(6, 3, 4, generator=generator)
    share = pairwise_identification(found, truths)
    for i in range(6):
        r = [np.corrcoef(found[i].flatten(), truth.flatten())[0, 1] for truth in truths]
        assert float(share[i]) == pytest.approx(sum(r[i] > r[j] for j in range(6) if j != i) / 5)
    assert torch.equal(pairwise_identification(truths, truths), torch.ones(6))
    assert float(pairwise_identification(torch.ones(6, 2), truths[:, 0, :2]).mean()) == 0.5  # a constant knows nothing


def test_a_constant_correlates_with_nothing():
    assert correlations(torch.ones(2, 5), torch.randn(3, 5)).abs().max() == 0


def test_what_is_refused():
    x, y = data(10, 3, 2)
    with pytest.raises(ValueError, match="`alpha` should be positive"):
        FeatureDecoder(0.0)
    with pytest.raises(ValueError, match=r"`features` should have the shape \(10, u\)"):
        FeatureDecoder(1.0).fit(x, y[:5])
    with pytest.raises(ValueError, match="`recordings` should be finite"):
        FeatureDecoder(1.0).fit(x * math.nan, y)
    with pytest.raises(ValueError, match=r"`recordings` should have the shape \(n, 3\)"):
        FeatureDecoder(1.0).fit(x, y).predict(y)
    with pytest.raises(ValueError, match="`lags` should be some"):
        lagged(x, [])
    with pytest.raises(ValueError, match="two or more of one shape"):
        pairwise_identification(x[:1], x[:1])


@pytest.mark.usefixtures("as_installed")
def test_features_that_are_the_same_everywhere_have_no_spread():
    rows = torch.tensor([[1.0, 2.0, 3.0], [0.1, 0.1, 0.1]])
    with pytest.raises(ValueError, match=r"`decoded` should vary over a sample's units\. Found 0\.1 in all of row 1"):
        match_spread(rows, 1.0)
    with pytest.raises(ValueError, match="in all of row 0"):
        match_spread(rows[:1, :1], 1.0)
    with pytest.raises(TypeError, match="`decoded` should hold data"):
        match_spread(torch.ones(2, 3, device="meta"), 1.0)
    with pytest.raises(ValueError, match="`decoded` should be finite"):
        match_spread(rows * math.nan, 1.0)
    small = rows[:1] * 1e-30
    torch.testing.assert_close(match_spread(small, 2.0).std(1), torch.tensor([2.0]))


@pytest.mark.usefixtures("as_installed")
def test_what_is_not_finite_or_of_another_type_is_refused():
    x, y = data(10, 3, 2)
    decoder, broken = FeatureDecoder(1.0).fit(x, y), x.clone()
    broken[4, 1] = math.inf
    with pytest.raises(ValueError, match=r"`recordings` should be finite\. Found inf at \(4, 1\)"):
        decoder.predict(broken)
    for way in (correlations, pairwise_identification):
        with pytest.raises(ValueError, match=r"`truths` should be finite\. Found inf at \(4, 1\)"):
            way(x, broken)
    with pytest.raises(ValueError, match=r"`truths` should have the shape \(m, 3\)\. Found \(10, 2\)"):
        correlations(x, y)
    with pytest.raises(TypeError, match="`features` should be of the type"):
        FeatureDecoder(1.0).fit(x, y.half())
    with pytest.raises(TypeError, match="`recordings` should hold floating numbers"):
        lagged(x.long(), [1])
    with pytest.raises(TypeError, match="`lags` should be whole numbers"):
        lagged(x, [0.5])


def test_a_constant_that_rounds_correlates_with_nothing():
    rows = torch.stack([torch.full((1001,), 0.1), torch.full((1001,), 0.7)])
    other = torch.randn(3, 1001, generator=torch.Generator().manual_seed(0))
    assert correlations(rows, rows).abs().max() == 0
    assert correlations(other, rows).abs().max() == 0


@pytest.mark.parametrize("unit", [1e-44, 1e-25, 1e-14, 1e14, 1e25, 1e35])
def test_a_correlation_has_no_unit(unit):
    x, other = torch.randn(2, 3, 9, generator=torch.Generator().manual_seed(0)).unbind()
    coarse = x if unit > 1e-40 else x.sign() * (x.abs() * 10).round()
    wanted = torch.from_numpy(np.corrcoef(coarse.double(), other.double())[:3, 3:]).to(x)
    torch.testing.assert_close(correlations(coarse * unit, other), wanted, rtol=1e-4, atol=1e-5)
    if 1e-40 < unit < 1e35:
        torch.testing.assert_close(match_spread(x * unit, 2.0), match_spread(x, 2.0))


def test_float32_correlates_as_it_did():
    rows, other = torch.randn(2, 20, 333, generator=torch.Generator().manual_seed(0)).unbind()
    rows = rows * 10.0 ** torch.arange(-9, 11)[:, None]
    left, right = ((one - one.mean(1, keepdim=True)) for one in (rows, other))
    assert torch.equal(
        correlations(rows, other), (left / left.norm(dim=1, keepdim=True)) @ (right / right.norm(dim=1, keepdim=True)).T
    )


def test_halves_are_correlated_in_float32():
    rows = 300 * torch.randn(4, 50, generator=torch.Generator().manual_seed(0)).half()
    assert torch.equal(correlations(rows, rows), correlations(rows.float(), rows.float()))


def test_voxels_are_chosen_whatever_their_unit():
    generator = torch.Generator().manual_seed(0)
    y = torch.randn(60, 1, generator=generator)
    good, loud = y + 0.1 * torch.randn(60, 1, generator=generator), y + 3 * torch.randn(60, 1, generator=generator)
    dead = torch.full((60, 1), 0.1)
    found = FeatureDecoder(1e-30, voxels=1).fit(torch.cat([dead, loud, good * 1e-14], 1), y)
    assert found.weights.nonzero().tolist() == [[2, 0]]


@pytest.mark.parametrize(("shape", "voxels"), [((6, 3), None), ((3, 6), None), ((6, 3), 2)])
def test_a_system_that_a_type_cannot_solve_is_refused(shape, voxels):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(0)) * 1e4
    x = x[:, :1].expand(shape).contiguous()
    y = torch.randn(shape[0], 2, generator=torch.Generator().manual_seed(1))
    with pytest.raises(ValueError, match=r"`alpha` should be large enough for torch.float32.*Raise alpha, or pass float64"):
        FeatureDecoder(1e-20, voxels).fit(x, y)
