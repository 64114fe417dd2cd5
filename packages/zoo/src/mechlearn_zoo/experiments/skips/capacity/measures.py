"""Measures of the claims of capacity and data: numbers of one seed's trainings."""

from collections.abc import Callable

from claimlab import Rows, number

LEVEL = 0.6
"""Accuracy that a network must reach: what training of this length allows; the thesis' scale would ask for .9."""


def size_ratio(rows: Rows) -> float | None:
    """Return how many times as large a network without skips must be, on most episodes."""
    ours, theirs = smallest(rows, "asi"), smallest(rows, "fixed-6")
    return None if ours is None or theirs is None else theirs / ours


def smallest(rows: Rows, method: str) -> float | None:
    """Return the units of the smallest network that reaches the level on most episodes; twice the largest if none does."""
    some = rows.where(method=method, episodes=max(rows["episodes"]))
    reached = [number(row, "hidden") for row in some if number(row, "accuracy") >= LEVEL]
    return min(reached, default=2 * max(some["hidden"])) if some else None


def few(rows: Rows) -> float | None:
    """Return ASI's accuracy less a fixed step's: largest network, fewest episodes."""
    return _less(_largest(rows, "asi", min), _largest(rows, "fixed-6", min))


def fewer(rows: Rows) -> float | None:
    """Return ASI's accuracy on the fewest episodes less a fixed step's on the most: largest network."""
    return _less(_largest(rows, "asi", min), _largest(rows, "fixed-6", max))


def constant(rows: Rows) -> float | None:
    """Return ASI's accuracy on most episodes with the largest network, less that of the most frequent outcome."""
    return _less(_largest(rows, "asi", max), number(rows[0], "frequent"))


def _largest(rows: Rows, method: str, episodes: Callable[[list[float]], float]) -> float | None:
    found = rows.where(method=method, hidden=max(rows["hidden"]), episodes=episodes(rows["episodes"]))
    return number(found[0], "accuracy") if found else None


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
