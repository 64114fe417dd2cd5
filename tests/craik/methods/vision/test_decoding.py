import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from craik.methods.vision.decoding import FeatureDecoder, correlations, lagged, match_spread, pairwise_identification


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
