"""Measures of the claims of corrupted episodes: differences within a seed."""

import numpy as np

from claimlab import Measure, Measurement, Rows, bootstrap, number, where_stopped

Seeds = dict[float, float]
"""A number by seed."""

Table = dict[tuple[str, str], Seeds]
"""Accuracy for each corruption and method."""


def accuracies(rows: Rows) -> Table:
    """Return accuracy by corruption and method, then by seed."""
    found: Table = {}
    for row in rows:
        found.setdefault((str(row["corruption"]), str(row["method"])), {})[number(row, "seed")] = number(row, "accuracy")
    return found


def best_fixed(table: Table, corruption: str) -> str:
    """Return the fixed step that is most accurate in the median over seeds, the shortest of equals; none if there is none."""
    steps = sorted(method for name, method in table if name == corruption and method.startswith("fixed"))
    return max(steps, key=lambda method: float(np.median(list(table[corruption, method].values()))), default="none")


def ahead(corruption: str) -> Measure:
    """Return the measure of ASI's accuracy less that of the fixed step that is best under the same corruption."""

    def measure(rows: Rows) -> Measurement | None:
        table = accuracies(rows)
        return _median(_less(table.get((corruption, "asi")), table.get((corruption, best_fixed(table, corruption)))))

    return measure


def loses_less(corruption: str, stopped: bool = False) -> Measure:
    """Return the measure of what the fixed step that is best on clean episodes loses by a corruption, less what ASI loses.

    None where that step loses nothing at its end, in the median: nobody can lose less of it.
    """

    def less(rows: Rows) -> Measurement | None:
        return _median(_less(*_lost(rows, corruption)))

    def measure(rows: Rows) -> Measurement | None:
        lost = _median(_lost(rows, corruption)[0])
        return (where_stopped(less) if stopped else less)(rows) if lost and lost.value > 0 else None

    return measure


def _lost(rows: Rows, corruption: str) -> tuple[Seeds, Seeds]:
    """What the fixed step that is best on clean episodes loses by a corruption, and what ASI does."""
    table = accuracies(rows)
    theirs, ours = (
        _less(table.get(("clean", method)), table.get((corruption, method))) for method in (best_fixed(table, "clean"), "asi")
    )
    return theirs, ours


def _less(one: Seeds | None, other: Seeds | None) -> Seeds:
    return {seed: one[seed] - other[seed] for seed in one if seed in other} if one and other else {}


def _median(found: Seeds) -> Measurement | None:
    return bootstrap(list(found.values())) if found else None
