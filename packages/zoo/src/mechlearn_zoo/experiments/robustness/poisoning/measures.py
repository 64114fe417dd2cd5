"""How poison is measured: by errors on examples that neither learner nor attacker saw."""

from collections.abc import Callable

import numpy as np

from claimlab import EachSeed, Rows

PAIR, SHARE = "8-9", 0.1
"""The digits that claims are read at, and the share of poison."""


def of_pair(number: Callable[[Rows], float]) -> EachSeed:
    """Return a measure: a number of each seed's rows of `PAIR`, mean over seeds."""
    return EachSeed(lambda rows: number(found) if (found := rows.where(pair=PAIR)) else None)


def regularised(family: str) -> EachSeed:
    """Return a measure: the rise of the test error, the weakly regularised learner's less the strongly regularised one's."""

    def difference(rows: Rows) -> float:
        some = rows.where(kind="own", family=family, share=SHARE)
        both = [some.where(complexity=c) for c in "HL"]
        weak, strong = (one["poisoned"][0] - one["clean"][0] for one in both)
        return weak - strong

    return of_pair(difference)


@of_pair
def over_flips(rows: Rows) -> float:
    """Return the test error with poison less that with the same flipped labels where they stood, mean over learners."""
    some = rows.where(kind="own", share=SHARE)
    return float(np.mean(np.subtract(some["poisoned"], some["flipped"])))


@of_pair
def surrogate(rows: Rows) -> float:
    """Return the test error with poison made on a stand-in less that with flipped labels, mean over all 36 pairs."""
    flips = rows.where(kind="own", share=SHARE)
    by_target = {(row["family"], row["complexity"]): float(row["flipped"] or 0) for row in flips}
    pairs = rows.where(kind="pair")
    return float(np.mean([float(row["error"] or 0) - by_target[row["target"], row["target_complexity"]] for row in pairs]))


@of_pair
def matched(rows: Rows) -> float:
    """Return the test error with a stand-in's poison: stand-ins regularised as the target is, less the others."""
    pairs = rows.where(kind="pair")
    same, other = (
        pairs.where(lambda row, alike=alike: (row["surrogate_complexity"] == row["target_complexity"]) == alike)["error"]
        for alike in (True, False)
    )
    return float(np.mean(same) - np.mean(other))


@of_pair
def correlation(rows: Rows) -> float:
    """Return Pearson's correlation of alignment and the rise of test loss over that of the own poison, over 36 pairs."""
    pairs = rows.where(kind="pair")
    return float(np.corrcoef(pairs["alignment"], pairs["ratio"])[0, 1])


@of_pair
def implicit(rows: Rows) -> float:
    """Return the largest relative error of the directional derivative over rows of logistic regression."""
    return max(rows.where(kind="own", family="logistic")["foretold"])
