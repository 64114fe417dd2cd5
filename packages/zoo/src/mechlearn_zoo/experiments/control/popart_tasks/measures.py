"""Scores of tasks of different scale, each the mean over `LAST` successive reports; numbers are means over seeds."""

from typing import Literal

import numpy as np

from claimlab import EachSeed, Rows
from mechlearn_zoo.experiments.control.popart_tasks.run import PRIZES

LAST = 3
"""Reports at the end of which the mean counts."""

Key = Literal["mean", "worst", "prizes", "plain"]
"""Of the tasks' scores: their mean, the least, the mean of those with prizes or of those without."""


def ahead(method: str, other: str, key: Key, best: bool = False) -> EachSeed:
    """Return a measure: one method's number at the end less another's there, or where the other is best."""

    def number(rows: Rows) -> float | None:
        ours, theirs = windows(rows, method, key), windows(rows, other, key)
        return ours[-1] - (max(theirs) if best else theirs[-1]) if ours and theirs else None

    return EachSeed(number)


def apart(best: bool = False) -> EachSeed:
    """Return a measure: how far PopArt with and without clipping are apart in the tasks without prizes.

    Args:
        best: where each is best, instead of at the end.
    """

    def number(rows: Rows) -> float | None:
        ours, theirs = (windows(rows, method, "plain") for method in ("popart", "popart-clipping"))
        if not (ours and theirs):
            return None
        return abs(max(ours) - max(theirs)) if best else abs(ours[-1] - theirs[-1])

    return EachSeed(number)


def windows(rows: Rows, method: str, key: Key) -> list[float]:
    """Return the number of every `LAST` successive reports of a seed's training, the last at its end."""
    some = rows.where(method=method)
    if not some:
        return []
    reports = np.array([some[name] for name in sorted(some[0]) if name.startswith("task_")])
    starts = range(max(1, reports.shape[1] - LAST + 1))
    return [_number([float(np.mean(one[start : start + LAST])) for one in reports], key) for start in starts]


def _number(scores: list[float], key: Key) -> float:
    if key == "prizes":
        return float(np.mean([scores[task] for task in PRIZES]))
    if key == "plain":
        return float(np.mean([score for task, score in enumerate(scores) if task not in PRIZES]))
    return min(scores) if key == "worst" else float(np.mean(scores))


def moved(rows: Rows) -> float | None:
    """Return the largest change of an output by one of PopArt's updates, as a share of its size."""
    return max(rows.where(lambda row: str(row["method"]).startswith("popart"))["moved"], default=None)
