"""What is claimed of random gradients, and how it is measured."""

import math

import numpy as np

from claimlab import Claim, Measurement, Rows, at_most, bootstrap, equal, high_at_most, low_above, number, within


def slope(rows: Rows, x: str, y: str, log_x: bool) -> Measurement | None:
    """Fit log(y) against x or log(x) for each seed and return the median slope over seeds."""
    slopes = [_slope(group, x, y, log_x) for group in rows.by("seed").values()]
    found = [value for value in slopes if value is not None]
    return bootstrap(found) if found else None


def _slope(rows: Rows, x: str, y: str, log_x: bool) -> float | None:
    some = rows.where(lambda row: number(row, y) > 0)
    if len(some) < 3:
        return None
    positions = np.log(some[x]) if log_x else np.asarray(some[x])
    return float(np.polyfit(positions, np.log(some[y]), 1)[0])


def largest_excess(rows: Rows, bound: str) -> Measurement | None:
    """Return the largest ratio over d of the masked mean square to a bound where that is not 0, median over seeds."""
    ratios = [
        max(number(row, "masked") / number(row, bound) for row in group if number(row, bound) > 0)
        for group in rows.by("seed").values()
    ]
    return bootstrap(ratios) if ratios else None


def at_full_agreement(rows: Rows) -> Measurement | None:
    """Return the masked mean square at the largest d where t = d, where the printed bound is 0."""
    full = rows.where(lambda row: row["t"] == row["d"])
    if not full:
        return None
    return bootstrap(full.where(d=max(full["d"]))["masked"])


def _as_rate(fitted: Measurement | None) -> Measurement | None:
    if fitted is None:
        return None
    return Measurement(math.exp(-fitted.value), math.exp(-fitted.high), math.exp(-fitted.low), fitted.n)


def _largest_masked(rows: Rows, above: int) -> Measurement | None:
    some = rows.where(lambda row: number(row, "d") > above)
    largest = [max(group["masked"]) for group in some.by("seed").values()]
    return bootstrap(largest) if largest else None


CLAIMS = (
    Claim(
        id="random-gradients.mean-rate",
        text="For random gradients the squared norm of the average falls like n / d.",
        source="thesis proposition 2 and figure 3.4",
        printed="d^-1",
        measure=lambda rows: slope(rows, "d", "mean", log_x=True),
        condition=within(0.05, -1, of="slope of log mean square against log d"),
    ),
    Claim(
        id="random-gradients.masked-rate",
        text="With the AND-mask it falls exponentially in d: like c^-d with 1 < c <= 2.",
        source="thesis proposition 2 and figure 3.4",
        printed="1 < c <= 2",
        measure=lambda rows: _as_rate(slope(rows, "d", "masked", log_x=False)),
        condition=low_above(1, of="c fitted where anything survives") & high_at_most(2),
    ),
    Claim(
        id="random-gradients.nothing-survives",
        text="For more than 100 random gradients nothing survived the mask.",
        source="caption of figure 3.4, thesis section 3.2.3",
        printed="0",
        measure=lambda rows: _largest_masked(rows, above=100),
        condition=equal(0, of="masked mean square for every d > 100, the largest:"),
    ),
    Claim(
        id="random-gradients.printed-bound",
        text="Proposition 2's printed bound, (d - t) C(d, t) / 2^(d - 1) a component, holds at t = d.",
        source="thesis appendix B.1.4, last line of the proof",
        printed="0",
        measure=at_full_agreement,
        condition=at_most(0, of="masked mean square at the largest d with t = d, where the printed bound is 0:"),
        tried="The last sum has d - t + 1 terms, not d - t: an erratum (docs/evidence/deviations.md).",
    ),
    Claim(
        id="random-gradients.corrected-bound",
        kind="erratum",
        text="With d - t + 1 terms in its last sum, proposition 2's bound holds for every d.",
        source="erratum to thesis appendix B.1.4",
        measure=lambda rows: largest_excess(rows, "corrected_bound"),
        condition=high_at_most(1, of="largest ratio of masked mean square to the corrected bound"),
    ),
)
