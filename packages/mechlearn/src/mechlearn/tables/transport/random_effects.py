"""A pooled model moved to a new site by a few labelled rows: random effects, shrunk by variances of the training sites.

At a site the model's output f (logits, or numbers) becomes f + z b, with one normal effect b_c ~ N(0, v_c) for each column c
of a design z (Laird and Ware, 1982). The designs are a level, z = 1, a recalibration, z = (1, f), and slopes, z = (1, inputs).
Given k labelled rows, b is its posterior mean: of a level and numbers k v / (k v + s^2) times the mean residual. Of classes it
is the posterior mode. The variances are those of maximum likelihood by EM over training sites (of classes with Laplace's
approximation), on predictions by what had not seen the site. A column has an effect only where Cochran's Q finds one.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2

Numbers = NDArray[np.float64]

Way = Literal["level", "recalibration", "slopes"]
"""How a model is moved."""

WAYS: tuple[Way, ...] = ("level", "recalibration", "slopes")

ROUNDS, NEWTON, COLUMNS, DOUBT = 20, 12, 20, 0.05
"""Rounds of EM, of Newton's method, columns that have slopes at most, and the level of Cochran's test over all of them."""


class SiteRows(NamedTuple):
    """Rows of one site: a design (n, C), what the pooled model says (n,), logits or numbers, and y (n,), 0 or 1, or numbers."""

    z: Numbers
    offset: Numbers
    y: Numbers


class Prior(NamedTuple):
    """How sites differ: variances (C,) of the effects, 0 for none, and of a number about its mean; no noise for classes."""

    variances: Numbers
    noise: float | None


def effects(rows: SiteRows, prior: Prior) -> Numbers:
    """Return (C,) the effects that labelled rows establish: the posterior mean, of classes the mode."""
    return _posterior(rows, prior)[0]


def _posterior(rows: SiteRows, prior: Prior, start: Numbers | None = None, steps: int = NEWTON) -> tuple[Numbers, Numbers]:
    """Return (C,) effects and (C, C) their covariance."""
    found, covariance = np.zeros(len(prior.variances)), np.zeros((len(prior.variances),) * 2)
    kept = np.flatnonzero(prior.variances > 0)
    if not len(kept):
        return found, covariance
    z, precision = rows.z[:, kept], np.diag(1 / prior.variances[kept])
    b = np.zeros(len(kept)) if start is None else start[kept]
    if prior.noise is not None:
        steps = 1
    hessian = precision
    for _ in range(steps):
        if prior.noise is None:
            said = expit(rows.offset + z @ b)
            weights, slope = said * (1 - said), z.T @ (rows.y - said)
        else:
            weights, slope = np.full(len(z), 1 / prior.noise), z.T @ (rows.y - rows.offset - z @ b) / prior.noise
        hessian = z.T @ (weights[:, None] * z) + precision
        step = np.linalg.solve(hessian, slope - precision @ b)
        far = float(np.abs(step).max()) / 4 if prior.noise is None else 1.0  # of classes: where the curvature does not hold
        b = b + step / max(1.0, far)
        if float(np.abs(step).max()) < 1e-8:
            break
    found[kept], covariance[np.ix_(kept, kept)] = b, np.linalg.inv(hessian)
    return found, covariance


def prior_of(sites: Sequence[SiteRows], classes: bool) -> Prior:
    """Return the variances between sites, by maximum likelihood over those columns that are found to differ.

    Predictions are by what had not seen the site, and the first column of the design is 1. Of classes y is 0 and 1.
    """
    noise = None if classes else max(1e-12, float(np.mean([(one.y - one.offset).var() for one in sites])))
    kept, start = _found_to_differ(sites, noise)
    variances = np.where(kept, start, 0.0)
    if not kept.any():
        return Prior(variances, noise)
    means: list[Numbers] = [np.zeros(len(kept)) for _ in sites]
    count = sum(len(one.y) for one in sites)
    for _ in range(ROUNDS):
        prior, squares, left = Prior(variances, noise), np.zeros(len(kept)), 0.0
        for place, one in enumerate(sites):
            mean, covariance = _posterior(one, prior, means[place], 2)
            means[place] = mean
            squares += mean**2 + np.diag(covariance)
            if noise is not None:
                left += float(np.sum((one.y - one.offset - one.z @ mean) ** 2) + np.sum((one.z @ covariance) * one.z))
        variances = np.where(kept, squares / len(sites), 0.0)
        noise = None if noise is None else max(1e-12, left / count)
    return Prior(variances, noise)


def _found_to_differ(sites: Sequence[SiteRows], noise: float | None) -> tuple[NDArray[np.bool_], Numbers]:
    """Return (C,) which columns have other effects at other sites by Cochran's Q, and moments' variances of these.

    A site's effect of one column is one step of Newton's method, beside a level of the site's own.
    """
    columns = sites[0].z.shape[1]
    slopes, information = np.zeros((len(sites), columns)), np.zeros((len(sites), columns))
    for place, one in enumerate(sites):
        said = expit(one.offset) if noise is None else one.offset
        left = one.y - said
        spread = max(1e-12, float(left.var())) if noise is not None else 1.0
        weights = said * (1 - said) if noise is None else np.full(len(left), 1 / spread)
        centred = one.z - weights @ one.z / weights.sum()
        centred[:, 0] = 1.0
        level = left - weights * left.sum() / weights.sum() if noise is None else left - left.mean()
        slopes[place] = centred.T @ level / spread
        slopes[place, 0] = left.sum() / spread
        information[place] = weights @ centred**2
    total = information.sum(0)
    usable = (information > 0).sum(0) > 2
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(information > 0, slopes / information, 0.0)
        q = np.sum(information * (each - np.where(total > 0, slopes.sum(0) / total, 0.0)) ** 2, 0)
        free = np.maximum((information > 0).sum(0) - 1, 1)
        moments = (q - free) / (total - (information**2).sum(0) / total)  # DerSimonian and Laird, 1986
    level = np.full(columns, DOUBT / max(1, columns - 1))
    level[0] = DOUBT
    kept = usable & (chi2.sf(q, free) < level) & (moments > 0)
    largest = np.argsort(-np.where(kept, q / free, -np.inf))[COLUMNS + 1 :]
    kept[largest] = False
    return kept, np.where(kept, moments, 0.0)
