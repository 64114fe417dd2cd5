"""Measures of claims that compare ways to skip by the share of right ends, a row a method and seed."""

import numpy as np

from claimlab import EachSeed, Paired, Rows, number


def ahead(method: str, over: str) -> Paired:
    """Return the measure of how much more often one method's ends are right than another's, the median over seeds."""
    return Paired("accuracy", {"method": method}, {"method": over})


def above_frequent(method: str) -> EachSeed:
    """Return the measure of a method's accuracy less that of always giving the most frequent end, the median over seeds."""

    def above(rows: Rows) -> float | None:
        some = rows.where(method=method)
        return number(some[0], "accuracy") - number(some[0], "frequent") if some else None

    return EachSeed(above, np.median)
