"""What is claimed of lag; written before any recorded run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from claimlab import Claim, Measurement, Rows, at_least, below, bootstrap, high_below, low_above, low_at_least
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


def difference(rows: Rows) -> Measurement | None:
    """Return V-trace's score less that of no correction at the largest lag, mean over seeds."""
    found = scores(rows)
    return bootstrap(np.subtract(found["vtrace"], found["none"]).tolist(), np.mean) if found else None


def spread(rows: Rows) -> Measurement | None:
    """Return how far apart the four methods are at lag 0, mean over seeds."""
    found = scores(rows, 0)
    return bootstrap(np.ptp(list(found.values()), axis=0).tolist(), np.mean) if found else None


def order(rows: Rows) -> Measurement | None:
    """Return the least step of vtrace >= one-step >= none, of medians over seeds, at the two largest lags.

    Its interval is that of seeds drawn anew, of which each brings all its scores.
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


def apart(rows: Rows) -> Measurement | None:
    """Return the lag of the most actors less that of the fewest, with V-trace, mean over seeds."""
    found = actors("lag", rows)
    return bootstrap(np.subtract(found[max(found)]["vtrace"], found[min(found)]["vtrace"]).tolist(), np.mean) if found else None


def largest(key: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: the largest of a fixed point's numbers, over MDPs and thresholds, the median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        points = rows.where(kind="fixed-point")
        return bootstrap([max(group[key]) for group in points.by("seed").values()]) if points else None

    return measure


_ORDER = (
    "least step of the order at the two largest lags, of medians over seeds of the mean of the last three reports (of 20 in "
    "quick),"
)

CLAIMS = (
    Claim(
        id="impala-lag.lag",
        text="Where the actors are far behind, V-trace scores better than no correction.",
        source="IMPALA, section 5.2.2 and table 2",
        measure=difference,
        condition=low_above(
            0,
            of="score of V-trace less that of no correction at the largest lag, mean of the last three reports (of 20 in "
            "quick), mean over seeds,",
        ),
    ),
    Claim(
        id="impala-lag.on-policy",
        text="Where they are not, the four agree.",
        source="IMPALA, section 4.1: V-trace reduces to the on-policy n-step target",
        measure=spread,
        condition=high_below(
            0.05,
            of="largest less smallest score of the four at lag 0, mean of the last three reports (of 20 in quick), mean over "
            "seeds,",
        ),
        kind="control",
    ),
    Claim(
        id="impala-lag.order",
        text="V-trace does at least as well as one-step importance sampling, which does at least as well as no correction.",
        source="IMPALA, table 2",
        printed="V-trace best on 3 of 5 tasks without replay, 4 of 5 with (from memory, unchecked)",
        measure=order,
        condition=low_at_least(0, of=_ORDER).instead_of(
            at_least(0, of=_ORDER),
            "The medians alone were asked, without an interval: with seeds drawn anew the least step is -0.054 to 0.078.",
        ),
        tried="The interval was asked for after the rows had been read. What fails is one step of four: at lag 16 one-step "
        "importance sampling is 0.024 [-0.054, 0.129] above no correction, less than it on one seed of six. V-trace is above "
        "one-step importance sampling at both lags, 16 and 64, and that above no correction at 64, on every seed.",
    ),
    Claim(
        id="impala-lag.fixed-point",
        text="The fixed point of the expected operator is the value of the policy min(rho mu, pi), normalised.",
        source="IMPALA, theorem 1",
        printed="0",
        measure=largest("error"),
        condition=below(1e-8, of="largest error over random MDPs and thresholds, median over seeds,"),
    ),
    Claim(
        id="impala-lag.traces",
        text="Where traces are cut does not move the fixed point.",
        source="IMPALA, theorem 1 and the remark on c",
        printed="0",
        measure=largest("moved"),
        condition=below(
            1e-8, of="largest change between c = 1 and c = 0.3 over random MDPs and thresholds, median over seeds,"
        ),
    ),
    Claim(
        id="impala-lag.actors-lag",
        text="The more actors, the further they are behind the learner.",
        source="IMPALA, section 3",
        measure=apart,
        condition=low_above(0, of="mean lag in updates of the most actors less that of the fewest, mean over seeds,").at(
            "actors"
        ),
    ),
)
