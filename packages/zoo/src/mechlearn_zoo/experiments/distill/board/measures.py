"""What is measured of the systems on one board."""

import numpy as np

from claimlab import EachSeed, Rows


def ahead(ours: str, theirs: str, key: str = "accuracy", *, stopped: bool = False) -> EachSeed:
    """Return a measure: one method's accuracy less another's, both at their ends or both stopped; the median over seeds.

    A student's accuracy is that where held-out boards are best, and `last` the one at its end. Of a dynamics model the accuracy
    is that at its end, and `stopped_accuracy` the one where held-out boards are best.
    """

    def number(rows: Rows) -> float | None:
        found: list[float] = []
        for method in (ours, theirs):
            first, second = (key, f"stopped_{key}") if method.startswith("asi") else ("last", key)
            column = second if stopped else first
            found += rows.where(lambda row, column=column: column in row, method=method)[column]
        return found[0] - found[1] if len(found) == 2 else None

    return EachSeed(number, np.median)
