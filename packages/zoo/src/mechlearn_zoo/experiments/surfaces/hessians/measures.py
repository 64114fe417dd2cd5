"""What the claims of Hessians that disagree measure; the table has medians over seeds."""

import numpy as np

from claimlab import EachSeed, Measure, Rows, Scalar, number
from mechlearn_zoo.experiments.surfaces.hessians.run import RATIOS


def largest(key: str, **values: Scalar) -> Measure:
    """Return a measure: the largest value of a column over a seed's rows that hold some values; median over seeds."""
    return EachSeed(lambda rows: max(rows.where(**values)[key], default=None), np.median)


def tightness(rows: Rows) -> float | None:
    """Return the share of the bound that a seed's inconsistency reaches in one dimension at the largest ratio, 1e6."""
    some = rows.where(kind="one-dimension", ratio=RATIOS[-1])
    return number(some[0], "inconsistency") / number(some[0], "corrected") if some else None


def growth(rows: Rows) -> float | None:
    """Return the slope of log inconsistency, or of the log of the printed bound if less, against log ratio from 1e5 to 1e6."""
    last = rows.where(kind="one-dimension").where(lambda row: number(row, "ratio") >= RATIOS[-1] / 10)
    x = np.log(last["ratio"])
    return min(float(np.polyfit(x, np.log(last[key]), 1)[0]) for key in ("inconsistency", "printed")) if last else None
