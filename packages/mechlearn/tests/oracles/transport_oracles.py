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
