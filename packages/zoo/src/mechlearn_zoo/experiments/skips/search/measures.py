"""Measures of the claims of methods at settings of their own: each method's trials are selected by validation episodes.

However many trials there are, they rest on one data set: n is 1.
"""

from collections.abc import Sequence

import numpy as np

from claimlab import Measure, Measurement, Rows, number
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT

Trials = dict[float, tuple[float, float]]
"""By draw of settings: accuracy on validation and on test episodes."""

RESAMPLES = 2000


def advantage(over: str) -> Measure:
    """Return the measure of ASI's test accuracy in its best trial less another method's in its own.

    A resample draws as many trials as there are, with replacement, and selects each method's best among them. None where the
    other's best trial has learned nothing, on validation episodes.
    """

    def measure(rows: Rows) -> Measurement | None:
        tables = [_trials(rows.where(kind="trial", method=method)) for method in ("asi", over)]
        trials = sorted(set(tables[0]) & set(tables[1]))
        if not trials or max(validation for validation, _ in tables[1].values()) < LEARNT:
            return None
        # Test accuracy of each method's trials, worst on validation first: the best trial of a sample is its largest place.
        orders = [sorted(trials, key=lambda trial: table[trial][0]) for table in tables]
        places = np.array([[order.index(trial) for trial in trials] for order in orders])
        tests = np.array([[table[trial][1] for trial in order] for table, order in zip(tables, orders, strict=True)])
        drawn = np.random.default_rng(0).integers(len(trials), size=(RESAMPLES, len(trials)))
        best = places[:, drawn].max(axis=2)
        return _ends(float(tests[0][-1] - tests[1][-1]), tests[0][best[0]] - tests[1][best[1]])

    return measure


def architectures(rows: Rows) -> Measurement | None:
    """Return by how much ASI's accuracies by architecture differ at most, each in its best trial, and an interval over draws.

    A resample takes as many draws of settings as there are, with replacement, and every network's best trial among them; one
    in which no network has learned anything is left out.
    """
    groups = rows.where(lambda row: "architecture" in row, kind="trial", method="asi").by("architecture").values()
    networks = [_trials(group) for group in groups]
    value = _apart(networks)
    if value is None:
        return None
    draws = sorted({draw for trials in networks for draw in trials})
    found = list[float]()
    for drawn in np.random.default_rng(0).integers(len(draws), size=(RESAMPLES, len(draws))):
        taken = {draws[place] for place in drawn}
        some = [{draw: trials[draw] for draw in taken if draw in trials} for trials in networks]
        if (one := _apart(some)) is not None:
            found.append(one)
    return _ends(value, found)


def best_horizon(rows: Rows) -> Measurement | None:
    """Return the horizon of ASI's trial that is best on validation episodes; its ends are those of the best three."""
    some = rows.where(kind="trial", method="asi", task="funnel-board")
    found = [number(row, "horizon") for row in sorted(some, key=lambda row: -number(row, "validation_accuracy"))[:3]]
    return Measurement(found[0], min(found), max(found), 1) if found else None


def _trials(rows: Rows) -> Trials:
    return {number(row, "seed"): (number(row, "validation_accuracy"), number(row, "test_accuracy")) for row in rows}


def _apart(networks: Sequence[Trials]) -> float | None:
    """The distance between the best and the worst network on test episodes, each in the trial that validation selects.

    None if one has no trial, or none has learned anything: such networks are alike.
    """
    if len(networks) < 2 or not all(networks):
        return None
    best = [max(trials.values(), key=lambda trial: trial[0]) for trials in networks]
    tests = [test for _, test in best]
    return max(tests) - min(tests) if max(validation for validation, _ in best) >= LEARNT else None


def _ends(value: float, resampled: Sequence[float] | np.ndarray) -> Measurement:
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Measurement(value, min(value, float(low)), max(value, float(high)), 1)
