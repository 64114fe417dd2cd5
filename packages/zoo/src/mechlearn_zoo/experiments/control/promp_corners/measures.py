"""ProMP against MAML on corners, and the surrogates' exact biases and spreads in a seed's MDPs."""

import numpy as np

from claimlab import EachSeed, Rows

LAST = 3
"""Reports at the end of which the mean counts."""


def less(key: str, last: int = LAST, methods: tuple[str, str] = ("promp", "maml")) -> EachSeed:
    """Return a measure: a method's number less another's, mean over the last reports (all of them at 0) and over seeds."""

    def number(rows: Rows) -> float | None:
        ends = [rows.where(kind="curve", method=method)[key][-last:] for method in methods]
        return float(np.mean(ends[0]) - np.mean(ends[1])) if all(ends) else None

    return EachSeed(number)


def worst(rows: Rows) -> float | None:
    """Return DiCE's largest relative error of the expected Hessian."""
    return max(rows.where(kind="dice")["error"], default=None)


def closer(rows: Rows) -> float:
    """Return the error of log pi over that of the low-variance curvature, median over MDPs and horizons."""
    return float(np.median(np.divide(rows.where(kind="log")["error"], rows.where(kind="lr")["error"])))


def quieter(rows: Rows) -> float:
    """Return the spread of the low-variance curvature over DiCE's at the longest horizon, median over MDPs."""
    some = rows.where(horizon=max(rows["horizon"]))
    return float(np.median(np.divide(some.where(kind="lr")["spread"], some.where(kind="dice")["spread"])))
