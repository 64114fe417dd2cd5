"""How transferred attacks are measured: by errors and losses under them, of models that are 90 % accurate."""

from collections.abc import Callable

import numpy as np

from claimlab import EachSeed, Rows

PAIR, NORM = "8-9", "2"
"""The digits and the norm that claims are read at."""
ACCURATE = 0.9


def first(number: Callable[[Rows], float | None]) -> EachSeed:
    """Return a measure: a number of each seed's rows of `PAIR` and `NORM`, mean over seeds."""
    return EachSeed(lambda rows: number(rows.where(lambda row: row.get("norm", NORM) == NORM, pair=PAIR)))


@first
def correlation(rows: Rows) -> float | None:
    """Return Pearson's correlation of alignment and the rise of loss over the own attack's, over all 64 pairs."""
    pairs = rows.where(kind="pair").where(lambda row: float(row["accurate"] or 0) >= ACCURATE)
    return float(np.corrcoef(pairs["alignment"], pairs["loss_ratio"])[0, 1]) if len(pairs) > 2 else None


def targets(family: str) -> EachSeed:
    """Return a measure: the error under its own attack above the clean one, the complex target's less the simple one's."""

    def difference(rows: Rows) -> float | None:
        models = rows.where(kind="model", family=family)
        if not models or min(models["accuracy"]) < ACCURATE:
            return None
        both = [models.where(complexity=c) for c in "HL"]
        high, low = (one["white_box"][0] - (1 - one["accuracy"][0]) for one in both)
        return high - low

    return first(difference)


def surrogates(family: str) -> EachSeed:
    """Return a measure: the error over eight targets, that of the simple surrogate's attack less the complex one's."""

    def difference(rows: Rows) -> float | None:
        pairs, models = rows.where(kind="pair", surrogate=family), rows.where(kind="model", family=family)
        if not pairs or min(models["surrogate_accuracy"]) < ACCURATE:
            return None
        low, high = (float(np.mean(pairs.where(surrogate_complexity=c)["error"])) for c in "LH")
        return low - high

    return first(difference)


@first
def excess(rows: Rows) -> float | None:
    """Return by how much the first-order value exceeds its bound at most, as a share of it."""
    return max(rows.where(kind="pair")["excess"], default=None)
