"""Measures of the claims of the length of a step."""

import numpy as np

from claimlab import Measurement, Rows, bootstrap, number
from mechlearn_zoo.experiments.skips.curve.ball_motion import STATES


def inside(rows: Rows) -> Measurement | None:
    """Return how much lower the least rate is than at the nearer end, as a share, in the state in which that is less."""
    if not rows:
        return None
    gains: list[list[float]] = []
    for state in STATES:
        curves = [group["rate"] for group in rows.where(state=state).by("seed").values()]
        gains.append([1 - min(rates) / min(rates[0], rates[-1]) for rates in curves])
    return bootstrap(min(gains, key=lambda each: float(np.median(each))))


def slow_over_fast(rows: Rows) -> float:
    """Return the skip with the least rate in slow states over that in fast ones, of one seed."""
    slow, fast = (min(rows.where(state=state), key=lambda row: number(row, "rate")) for state in ("slow", "fast"))
    return number(slow, "skip") / number(fast, "skip")
