"""Scores by lag and correction, and fixed points of V-trace."""

from typing import Any

import numpy as np

from claimlab import Measurement, Rows, bootstrap
from mechlearn_zoo.experiments.control.impala_lag.run import CORRECTIONS, METHODS

LAST = 3
"""Reports at the end of which the mean counts as a method's score."""


def scores(rows: Rows, lag: int | None = None) -> dict[str, list[float]]:
    """Return each method's score at the end by seed (mean over games), at a lag; at the largest if None."""
    curves = rows.where(kind="curve")
    lags = sorted({int(found) for found in curves["lag"]})
    wanted = lag if lag is not None else max(lags, default=0)
    if wanted not in lags:
        return {}
    some = curves.where(lag=wanted)
    return {method: [_end(group) for group in some.where(method=method).by("seed").values()] for method in METHODS}


def _end(rows: Rows) -> float:
    return float(np.mean([np.mean(group["score"][-LAST:]) for group in rows.by("world").values()]))


def difference(rows: Rows) -> float | None:
    """Return one seed's score of V-trace less that of no correction at the largest lag."""
    found = scores(rows)
    return found["vtrace"][0] - found["none"][0] if found else None


def spread(rows: Rows) -> float | None:
    """Return how far apart the four methods are at lag 0 on one seed."""
    found = scores(rows, 0)
    return float(np.ptp(list(found.values()))) if found else None


def order(rows: Rows) -> Measurement | None:
    """Return the least step of vtrace >= one-step >= none, of medians over seeds, at the two largest lags.

    Its interval is that of resampled seeds, each with all its scores.
    """
    lags = sorted({int(found) for found in rows.where(kind="curve")["lag"]})[-2:]
    if not lags:
        return None
    found = np.array([[scores(rows, lag)[name] for name in ("vtrace", "one-step", "none")] for lag in lags])

    def least(seeds: np.ndarray[Any, np.dtype[Any]], axis: int) -> Any:  # noqa: ANN401  # an array, or a scalar of numpy
        middle = np.median(found[..., seeds.astype(int)], axis=axis)
        return np.min(middle[:, :-1] - middle[:, 1:], axis=(0, 1))

    return bootstrap(range(found.shape[-1]), least)


def actors(key: str, rows: Rows) -> dict[int, dict[str, list[float]]]:
    """Return, for each number of actors and method, the mean of a number over the last reports, by seed."""
    some = rows.where(kind="actors")

    def ends(count: int, method: str) -> list[float]:
        seeds = some.where(actors=count, method=method).by("seed")
        return [float(np.mean(one[key][-LAST:])) for one in seeds.values()]

    counts = sorted({int(found) for found in some["actors"]})
    return {count: {method: ends(count, method) for method in CORRECTIONS} for count in counts}


def apart(rows: Rows) -> float | None:
    """Return one seed's lag of the most actors less that of the fewest, with V-trace."""
    found = actors("lag", rows)
    return found[max(found)]["vtrace"][0] - found[min(found)]["vtrace"][0] if found else None


def largest(key: str, rows: Rows) -> float | None:
    """Return the largest of a fixed point's numbers over random MDPs and thresholds."""
    return max(rows.where(kind="fixed-point")[key], default=None)
