"""Measures of the claims of a change of physics: numbers of one seed's rows and a method, over the seeds that have them."""

from collections.abc import Callable

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Rows, number
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT

FIXED = ("fixed-1", "fixed-2", "fixed-3")

AROUND = 3
"""Checks before the switch, and after it, over which accuracy is averaged."""

KEPT = 0.05
"""How far accuracy with bounce may be from that without if a frozen network is to have kept it."""

Number = Callable[[Rows, str], float | None]
"""From one seed's rows and a method; None for a seed that is left out."""


def of(what: Number, method: str) -> EachSeed:
    """Return the measure of a method's number, the median over seeds."""
    return EachSeed(lambda rows: what(rows, method), np.median)


def fixed(what: Number, largest: bool = False) -> Measure:
    """Return the measure of the fixed step whose median is least, or largest."""

    def measure(rows: Rows) -> Measurement | None:
        found = [one for method in FIXED if (one := of(what, method)(rows)) is not None]
        return (max if largest else min)(found, key=lambda one: one.value, default=None)

    return measure


def of_schedule(rows: Rows, schedule: str) -> Rows:
    """Return the rows of a schedule; those that do not name it have the switch."""
    return rows.where(lambda row: row.get("schedule", "switch") == schedule)


def lost(rows: Rows, method: str, schedule: str = "switch") -> float | None:
    """Return the mean accuracy at the last checks before the switch less that at the first ones after it.

    A seed on which nothing was learned before the switch has nothing to lose.
    """
    some = of_schedule(rows, schedule).where(method=method)
    before, after = (some.where(after=late)["accuracy"] for late in (False, True))
    if not before or not after or np.mean(before[-AROUND:]) < LEARNT:
        return None
    return float(np.mean(before[-AROUND:]) - np.mean(after[:AROUND]))


def beyond_control(rows: Rows, method: str) -> float | None:
    """Return what is lost at the switch less what is lost at that time without one."""
    ours, control = lost(rows, method), lost(rows, method, "standard")
    return None if ours is None or control is None else ours - control


def easier(rows: Rows, method: str) -> float | None:
    """Return accuracy without bounce before the switch less that on standard boards of training on these."""
    before = rows.where(method=method, after=False)
    without = of_schedule(before, "switch").where(lambda row: "accuracy_without_bounce" in row)
    standard = of_schedule(before, "standard")
    if not without or not standard:
        return None
    return float(np.mean(without["accuracy_without_bounce"][-AROUND:]) - np.mean(standard["accuracy"][-AROUND:]))


def same_labels(rows: Rows) -> float | None:
    """Return the share of validation boards with the same label with bounce and without."""
    return next((number(row, "same_labels") for row in rows if "same_labels" in row), None)


def frozen(rows: Rows, method: str) -> float | None:
    """Return how far apart accuracies with and without bounce are at the last check before the switch.

    Seeds on which nothing was learned are left out, and those where it cannot be more than `KEPT`: first frames with and
    without bounce are the same, and with them predictions, so that it is at most the share of boards with another label.
    """
    some = of_schedule(rows, "switch").where(
        lambda row: "same_labels" in row and number(row, "same_labels") < 1 - KEPT, method=method, after=False
    )
    if not some or number(some[-1], "accuracy_without_bounce") < LEARNT:
        return None
    return abs(number(some[-1], "accuracy") - number(some[-1], "accuracy_without_bounce"))
