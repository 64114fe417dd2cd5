"""How fast random gradients' averages and masked averages fall, and how they keep to a bound; medians over seeds."""

import math

import numpy as np

from claimlab import EachSeed, Measurement, Rows, number


def slope(x: str, y: str, log_x: bool) -> EachSeed:
    """Return a measure: the slope of log(y) against x or log(x), fitted where y is above 0 in three rows or more."""

    def fitted(rows: Rows) -> float | None:
        some = rows.where(lambda row: number(row, y) > 0)
        if len(some) < 3:
            return None
        positions = np.log(some[x]) if log_x else np.asarray(some[x])
        return float(np.polyfit(positions, np.log(some[y]), 1)[0])

    return EachSeed(fitted, np.median)


def masked_rate(rows: Rows) -> Measurement | None:
    """Return c of c^-d, fitted to the masked mean square where anything survives."""
    fitted = slope("d", "masked", log_x=False)(rows)
    if fitted is None:
        return None
    return Measurement(math.exp(-fitted.value), math.exp(-fitted.high), math.exp(-fitted.low), fitted.n)


def largest_masked(above: int) -> EachSeed:
    """Return a measure: the largest masked mean square of more gradients than a number."""
    return EachSeed(lambda rows: max(rows.where(lambda row: number(row, "d") > above)["masked"], default=None), np.median)


def largest_excess(bound: str) -> EachSeed:
    """Return a measure: the largest ratio over d of the masked mean square to a bound where that is not 0."""

    def largest(rows: Rows) -> float | None:
        some = rows.where(lambda row: number(row, bound) > 0)
        return max((number(row, "masked") / number(row, bound) for row in some), default=None)

    return EachSeed(largest, np.median)


def at_full_agreement(rows: Rows) -> float | None:
    """Return one seed's masked mean square at the largest d where t = d, where the printed bound is 0."""
    full = rows.where(lambda row: row["t"] == row["d"])
    return full.where(d=max(full["d"]))["masked"][0] if full else None
