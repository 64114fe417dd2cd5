"""Measures of claims that compare ways to skip by the share of right ends, a row a method and seed."""

from claimlab import OverSeeds, Paired


def ahead(method: str, over: str) -> Paired:
    """Return the measure of how much more often one method's ends are right than another's, the median over seeds."""
    return Paired("accuracy", {"method": method}, {"method": over})


def above_frequent(method: str) -> OverSeeds:
    """Return the measure of a method's accuracy less that of always giving the most frequent end, the median over seeds."""
    return OverSeeds("accuracy", {"method": method}, less="frequent")
