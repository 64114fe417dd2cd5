"""The next site's interval and the room, slowly and literally."""

import numpy as np
from sklearn.base import clone


def conformal_by_grid(scores, points=20_001):
    """The ends of all values of a grid whose p-value, by their distance from the mean of all, is above 10 %."""
    scores = np.asarray(scores, dtype=np.float64)
    reach = 10 * (np.ptp(scores) + 1e-3)
    kept = []
    for value in np.linspace(scores.min() - reach, scores.max() + reach, points):
        every = np.append(scores, value)
        distances = np.abs(every - every.mean())
        as_far = np.sum(distances >= distances[-1] - 1e-12)  # itself among them
        if as_far / len(every) > 0.1 + 1e-12:
            kept.append(value)
    return min(kept), max(kept)


def auc_by_pairs(positive, said):
    """The share of pairs in which the positive row has the higher score; ties count half."""
    pairs = [(one, other) for one in said[positive] for other in said[~positive]]
    return np.mean([1.0 if one > other else 0.5 if one == other else 0.0 for one, other in pairs])


def r_squared(labels, said):
    return 1 - np.sum((labels - said) ** 2) / np.sum((labels - np.mean(labels)) ** 2)


def room_by_loops(x, y, site, estimator, folds_of, weights=(0, 1, 3, 10)):
    """Each site's gain in points of R squared, at the weight that is best at the other sites.

    `folds_of` gives for a site's rows the folds of its own rows.
    """
    sites = np.unique(site)
    gains = np.zeros((len(sites), len(weights)))
    for place, one in enumerate(sites):
        own, pool = np.flatnonzero(site == one), np.flatnonzero(site != one)
        alone = r_squared(y[own], clone(estimator).fit(x[pool], y[pool]).predict(x[own]))
        for column, weight in enumerate(weights):
            said = np.zeros(len(own))
            for fold in folds_of[one]:
                others = [row for row in own if row not in set(fold)]
                rows = list(pool) + others * min(weight, len(pool) // len(own))
                model = clone(estimator).fit(x[rows], y[rows])
                for row in fold:
                    said[list(own).index(row)] = model.predict(x[[row]])[0]
            gains[place, column] = 100 * (r_squared(y[own], said) - alone)
    found = []
    for place in range(len(sites)):
        others = [gains[other] for other in range(len(sites)) if other != place]
        found.append(gains[place, int(np.argmax(np.mean(others, axis=0)))])
    return found


def posterior_level(residuals, variance, noise):
    """The random intercept's posterior mean, textbook form: shrunk mean residual."""
    k = len(residuals)
    return k * variance / (k * variance + noise) * sum(residuals) / k


def posterior_by_conditioning(z, residuals, variances, noise):
    """E[b | r] of the joint normal of effects and residuals, Cov(b, r) Cov(r)^-1 r."""
    z = np.asarray(z, dtype=np.float64)
    joint = z @ np.diag(variances) @ z.T + noise * np.eye(len(z))
    return np.diag(variances) @ z.T @ np.linalg.inv(joint) @ np.asarray(residuals)


def mode_by_grid(offset, y, variance, reach=4.0, points=80_001):
    """The value of one level of logits with the largest posterior density, among a grid's."""
    grid = np.linspace(-reach, reach, points)
    density = -(grid**2) / (2 * variance)
    for one, label in zip(offset, y, strict=True):
        density = density + label * (one + grid) - np.log1p(np.exp(one + grid))
    return grid[density.argmax()]


def marginal_likelihood(sites, variances, noise):
    """The log density of all sites' numbers with their effects integrated out."""
    total = 0.0
    for z, residuals in sites:
        joint = z @ np.diag(variances) @ z.T + noise * np.eye(len(z))
        total += -0.5 * (residuals @ np.linalg.solve(joint, residuals) + np.linalg.slogdet(2 * np.pi * joint)[1])
    return total


def drop_by_cells(p, q):
    """Base rate, inputs and relation with the densities known: rows of (cell, label, loss), cells and labels few.

    Everything is a sum over cells and labels of probabilities times mean losses.
    """

    def probability(rows, cell, label=None):
        return np.mean([one[0] == cell and (label is None or one[1] == label) for one in rows])

    def loss(rows, cell, label):
        return np.mean([one[2] for one in rows if one[:2] == (cell, label)])

    cells, labels = sorted({one[0] for one in q}), sorted({one[1] for one in q})
    share = {label: np.mean([one[1] == label for one in q]) / np.mean([one[1] == label for one in p]) for label in labels}
    rated = {(c, k): probability(p, c, k) * share[k] for c in cells for k in labels}
    of_p = {c: sum(rated[c, k] for k in labels) for c in cells}
    of_q = {c: probability(q, c) for c in cells}
    mean_p = {c: sum(rated[c, k] * loss(p, c, k) for k in labels) / of_p[c] for c in cells}
    mean_q = {c: sum(probability(q, c, k) * loss(q, c, k) for k in labels) / of_q[c] for c in cells}
    shared = {c: of_p[c] * of_q[c] / (of_p[c] + of_q[c]) for c in cells}
    total = sum(shared.values())
    shared_p = sum(shared[c] * mean_p[c] for c in cells) / total
    shared_q = sum(shared[c] * mean_q[c] for c in cells) / total
    at_rates, at_q = sum(of_p[c] * mean_p[c] for c in cells), sum(of_q[c] * mean_q[c] for c in cells)
    return at_rates - np.mean([one[2] for one in p]), (shared_p - at_rates) + (at_q - shared_q), shared_q - shared_p
