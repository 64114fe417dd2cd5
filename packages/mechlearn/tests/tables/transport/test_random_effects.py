import numpy as np
import pytest
from scipy.optimize import minimize

from mechlearn.tables.transport.random_effects import Prior, SiteRows, effects, prior_of
from transport_oracles import marginal_likelihood, mode_by_grid, posterior_by_conditioning, posterior_level


@pytest.mark.parametrize("rows", [1, 5, 20])
def test_a_level_is_the_shrunk_mean_residual(rows):
    rng = np.random.default_rng(rows)
    offset, y = rng.normal(size=rows), rng.normal(size=rows)
    found = effects(SiteRows(np.ones((rows, 1)), offset, y), Prior(np.array([0.7]), 1.3))
    assert found == pytest.approx([posterior_level((y - offset).tolist(), 0.7, 1.3)])


def test_slopes_are_the_conditional_mean_and_a_column_of_no_variance_has_none():
    rng = np.random.default_rng(0)
    z, offset, y = rng.normal(size=(8, 4)), rng.normal(size=8), rng.normal(size=8)
    variances = np.array([0.5, 0.0, 2.0, 0.1])
    found = effects(SiteRows(z, offset, y), Prior(variances, 0.9))
    assert found == pytest.approx(posterior_by_conditioning(z, y - offset, variances, 0.9))
    assert found[1] == 0


@pytest.mark.parametrize("labels", [[1, 1, 1, 1, 1], [0, 1, 1, 0, 1], [0] * 5])
def test_of_classes_a_level_is_the_posterior_mode(labels):
    offset, y = np.linspace(-3, 2, 5), np.array(labels, dtype=float)
    found = effects(SiteRows(np.ones((5, 1)), offset, y), Prior(np.array([1.5]), None))
    assert found == pytest.approx([mode_by_grid(offset, y, 1.5)], abs=2e-4)


def made(rng, count, rows, variances, classes):
    sites, drawn = [], rng.normal(size=(count, len(variances)))
    drawn /= np.sqrt((drawn**2).mean(0))  # the variances are those drawn from
    for b in np.sqrt(variances) * drawn:
        z = np.hstack([np.ones((rows, 1)), rng.normal(size=(rows, len(variances) - 1))])
        offset = rng.normal(size=rows)
        said = offset + z @ b
        y = (rng.random(rows) < 1 / (1 + np.exp(-said))).astype(float) if classes else said + rng.normal(size=rows)
        sites.append(SiteRows(z, offset, y))
    return sites


def test_variances_are_those_of_the_largest_likelihood():
    sites = made(np.random.default_rng(1), 30, 40, np.array([0.5, 0.8]), False)
    prior = prior_of(sites, False)
    pairs = [(one.z, one.y - one.offset) for one in sites]
    literal = minimize(lambda logs: -marginal_likelihood(pairs, np.exp(logs[:2]), np.exp(logs[2])), np.zeros(3)).x
    assert [*prior.variances, prior.noise] == pytest.approx(np.exp(literal), rel=0.02)


def test_of_classes_variances_are_near_those_drawn_from():
    prior = prior_of(made(np.random.default_rng(2), 60, 80, np.array([0.8, 0.5, 0.0]), True), True)
    assert prior.noise is None
    assert prior.variances == pytest.approx([0.8, 0.5, 0.0], rel=0.25)


@pytest.mark.parametrize("classes", [True, False])
def test_where_sites_are_alike_there_is_hardly_ever_an_effect(classes):
    rng, found = np.random.default_rng(3), []
    for _ in range(40):
        found.append((prior_of(made(rng, 8, 60, np.zeros(5), classes), classes).variances > 0).any())
    assert np.mean(found) < 0.2  # twice .05 is expected: of the level, and of all slopes together
