"""How averaging's patchworks and the shared solution are measured."""

from itertools import combinations
from typing import Any, Literal

import numpy as np

from claimlab import EachSeed, Rows, number

INVARIANT = (0.0, 0.0, 0.0, 0.0, 3.0)
"""The solution that any two environments show; without weight decay it would be 10 / 3 in the last place."""


def _solutions(finals: Rows) -> list[np.ndarray[Any, np.dtype[Any]]]:
    return [np.array([number(row, f"theta_{i}") for i in range(1, 6)]) for row in finals]


def nearest_pair(rows: Rows) -> float | None:
    """Return the least distance between two of averaging's three solutions; a patch's weight is about 0.33."""
    pairs = combinations(_solutions(rows.where(kind="final", method="mean")), 2)
    return min((float(np.linalg.norm(a - b)) for a, b in pairs), default=None)


def off_invariant(method: str) -> EachSeed:
    """Return a measure: the largest deviation of any weight from `INVARIANT` over the three choices of environments.

    These are all, the first two and the last two; the median over seeds.
    """

    def largest(rows: Rows) -> float | None:
        found = _solutions(rows.where(kind="final", method=method))
        return max((float(abs(theta - INVARIANT).max()) for theta in found), default=None)

    return EachSeed(largest, np.median)


def held_out_loss(method: str, pick: Literal["min", "max"]) -> EachSeed:
    """Return a measure: the least or the largest loss on left-out environments, of training on the first and the last two.

    Predicting 0 costs 0.5 there. The median over seeds.
    """

    def loss(rows: Rows) -> float | None:
        some = rows.where(lambda row: row["test_loss"] is not None, kind="final", method=method)
        return (min if pick == "min" else max)(some["test_loss"], default=None)

    return EachSeed(loss, np.median)
