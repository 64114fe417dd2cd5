"""Measures of the claims of ASI's choices: differences within a seed, whose methods share boards and starts."""

import numpy as np

from claimlab import Measure, Measurement, Rows, number, where_stopped
from mechlearn_zoo.experiments.skips.comparing.measures import above_frequent, ahead
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT

__all__ = ["above_frequent", "ahead", "ahead_where_learned", "reader_difference"]


def reader_difference(rows: Rows) -> float | None:
    """Return how far ASI's accuracies by the learned and by the hand-written reader lie apart, of one seed."""
    some = rows.where(lambda row: row["learnt"] is not None, method="asi")
    return abs(number(some[0], "learnt") - number(some[0], "accuracy")) if some else None


def ahead_where_learned(method: str, over: str, stopped: bool = False) -> Measure:
    """Return the measure `ahead`; None where neither has learned anything at its end, in the median over seeds."""
    compared = where_stopped(ahead(method, over)) if stopped else ahead(method, over)

    def measure(rows: Rows) -> Measurement | None:
        found = [rows.where(method=name)["accuracy"] for name in (method, over)]
        return compared(rows) if any(values and np.median(values) >= LEARNT for values in found) else None

    return measure
