"""How planning by division is measured: by the share of mazes that are solved with so many questions."""

import numpy as np

from claimlab import EachSeed, Rows, number

BUDGET = 200
"""Questions after which mazes are counted."""


def solved(rows: Rows, method: str, budget: int) -> float | None:
    """Return the share of problems that a method has solved with so many questions."""
    found = rows.where(kind="search", method=method)
    if not found:
        return None
    return float(np.mean([row["solved"] is not None and number(row, "solved") <= budget for row in found]))


def more_than(other: str) -> EachSeed:
    """Return a measure: the share of mazes that division has solved after `BUDGET` less another method's, mean over seeds."""

    def difference(rows: Rows) -> float | None:
        ours, theirs = (solved(rows, method, BUDGET) for method in ("divided", other))
        return None if ours is None or theirs is None else ours - theirs

    return EachSeed(difference)
