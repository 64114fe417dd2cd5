import math

import numpy as np
import pytest
import torch
from scipy import stats

from mechlearn.penalties import screen
from mechlearn.penalties.screening import relations

SITES = 8


def table(rows=100, classes=2, seed=0):
    """Column 0 is sound, 1 turns its sign between sites, 2 differs in size only, 3 is noise, 4 is constant but at site 0."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(SITES), rows)
    y = rng.integers(classes, size=len(site))
    code = np.eye(classes)[y][:, 1:]
    signal = code[:, 0] - 0.5
    x = rng.normal(size=(len(site), 5))
    x[:, 0] += 1.5 * signal
    x[:, 1] += 2.0 * signal * np.where(site % 2, 1, -1)
    x[:, 2] += np.array([1.0, 3.0])[site % 2] * signal
    x[:, 4] = np.where(site == 0, x[:, 4] + signal, 3.0)
    return torch.tensor(x), torch.tensor(code), torch.tensor(site)


def literally(x, y, site):
    """Cochran's Q, tau^2 and mu^2 of each output and input, one at a time, with scipy's correlation and distribution."""
    q, p, tau2, mu2 = (np.zeros((y.shape[1], x.shape[1])) for _ in range(4))
    for k in range(y.shape[1]):
        for j in range(x.shape[1]):
            z, error2 = [], []
            for e in np.unique(site):
                a, b = x[site == e, j], y[site == e, k]
                if a.std() > 0 and b.std() > 0 and len(a) > 3:
                    z.append(math.atanh(stats.pearsonr(a, b).statistic))
                    error2.append(1 / (len(a) - 3))
            if len(z) < 2:
                p[k, j] = 1.0
                continue
            z, w = np.array(z), 1 / np.array(error2)
            q[k, j] = (w * (z - (w * z).sum() / w.sum()) ** 2).sum()
            p[k, j] = stats.chi2.sf(q[k, j], len(z) - 1)
            tau2[k, j] = z.var(ddof=1) - np.mean(error2)
            mu2[k, j] = max(0.0, z.mean() ** 2 - z.var(ddof=1) / len(z))
    return p, np.maximum(tau2.sum(0), 0), mu2.sum(0)


@pytest.mark.parametrize("classes", [2, 3])
def test_as_in_the_equations(classes):
    x, y, site = table(40, classes)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    found = screen(x[order], y[order], site[order])
    p, tau2, mu2 = literally(x.numpy(), y.numpy(), site.numpy())
    torch.testing.assert_close(found.tau2.numpy(), tau2, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.mu2.numpy(), mu2, rtol=1e-9, atol=1e-12)
    significant = (p < 0.01 / p.size).any(0)
    assert found.significant.tolist() == significant.tolist()
    assert found.keep.tolist() == (~(significant & (tau2 > mu2))).tolist()


def test_what_turns_its_sign_goes_and_what_differs_in_size_stays():
    found = screen(*table(200))
    assert found.keep.tolist() == [True, False, True, True, True]
    assert found.significant.tolist() == [False, True, True, False, False]  # significance alone would drop column 2


def test_a_column_that_varies_at_one_site_only_says_nothing_of_disagreement():
    z, _ = relations(*table())
    assert z[0, 0, 4].isfinite()
    assert z[1:, 0, 4].isnan().all()


def test_environments_of_three_rows_or_one_class_are_not_asked():
    x, y, site = table(30)
    site[:3] = 99
    y[site == 2] = 1.0
    z, errors = relations(x, y, site)
    assert z[-1].isnan().all()
    assert errors[-1].isnan()
    assert z[2].isnan().all()
    assert screen(x, y, site).keep.tolist() == [True, False, True, True, True]


def test_where_nothing_differs_hardly_anything_is_dropped():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(800, 100)), rng.integers(2, size=(800, 1)).astype(float)
    assert int(screen(torch.tensor(x), torch.tensor(y), np.repeat(np.arange(8), 100)).keep.sum()) == 100


def test_refusals():
    x, y, site = table(20)
    with pytest.raises(ValueError, match="level"):
        screen(x, y, site, level=2.0)
    with pytest.raises((TypeError, ValueError), match=r"rows|[Tt]ype-check"):
        screen(x[1:], y, site)
    with pytest.raises(ValueError, match="finite"):
        screen(x / 0, y, site)


@pytest.mark.usefixtures("as_installed")
def test_tables_that_are_none():
    x, y, site = table(20)
    with pytest.raises(ValueError, match=r"`targets` should have the shape \(n, K\)\. Found \(160,\)\. Make a column of a"):
        screen(x, y[:, 0], site)
    with pytest.raises(ValueError, match=r"`inputs` should have the shape \(n, J\)\. Found \(160, 0\)"):
        screen(x[:, :0], y, site)
    with pytest.raises(TypeError, match=r"`inputs` should be a tensor\. Found .* ndarray\. Convert it with torch\.as_tensor"):
        screen(x.numpy(), y.numpy(), site)
    assert torch.equal(screen(x, y.long(), site).keep, screen(x, y, site).keep)
