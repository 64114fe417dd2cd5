"""Measures of the claims of skips on states: differences within a seed, whose methods share data and starts."""

from collections.abc import Sequence

import numpy as np

from claimlab import Measure, Measurement, Rows, bootstrap, number

ASI = ("asi", "asi-exploration")

TIMED = ("fixed-1", "fixed-2", "fixed-4", "fixed-8", "fixed-16")
"""Fixed steps that relative skips are compared with by timing."""

Seeds = dict[int, float]
"""A number by seed."""


def final(rows: Rows, world: str, family: str) -> Seeds:
    """Return a family's final error by seed."""
    return _by_seed(rows.where(kind="score", world=world, family=family), "final")


def less(rows: Rows, world: str, families: Sequence[str], other: str) -> list[float]:
    """Return another family's final error less that of the best of some, for each seed; the best has the least mean."""
    tables = [found for family in families if (found := final(rows, world, family))]
    ours = min(tables, key=lambda found: float(np.mean(list(found.values()))), default={})
    return _pairs(final(rows, world, other), ours)


def most(worlds: Sequence[str], families: Sequence[str], other: str) -> Measure:
    """Return the measure of `less`, mean over seeds, in the world where it is greatest."""
    return lambda rows: _mean([less(rows, world, families, other) for world in worlds])


def least(world: str) -> Measure:
    """Return the measure of plain ASI's final error less that of relative skips, mean over seeds, of the better ASI."""
    return lambda rows: _mean([less(rows, world, ("relative",), asi) for asi in ASI], sign=-1)


def share_of_still(worlds: Sequence[str]) -> Measure:
    """Return the measure of a fixed step's final error over that of a prediction that nothing moves, where that is largest."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[list[float]] = []
        for world in worlds:
            still, ours = _by_seed(rows.where(kind="still", world=world), "final"), final(rows, world, "fixed")
            found.append([ours[seed] / still[seed] for seed in sorted(ours.keys() & still.keys())])
        return _mean(found)

    return measure


def from_path(timing: str) -> Measure:
    """Return the measure of how much closer relative skips are to the path than the closest fixed step, in medians over seeds.

    The distance is that of each predicted state to the nearest true one plus that of each true state to the nearest predicted.
    """

    def measure(rows: Rows) -> Measurement | None:
        found = _leads(rows, timing)
        return bootstrap(list(found.values())) if found else None

    return measure


def _leads(rows: Rows, timing: str) -> Seeds:
    """By seed, the distance of the closest fixed step, the same one for all seeds, less that of relative skips."""

    def distances(method: str) -> Seeds:
        some = rows.where(timing=timing, method=method)
        return {int(number(row, "seed")): number(row, "off_path") + number(row, "coverage") for row in some}

    relative = distances("relative")
    found = [{seed: by[seed] - relative[seed] for seed in sorted(by.keys() & relative.keys())} for by in map(distances, TIMED)]
    return min(filter(None, found), key=lambda each: float(np.median(list(each.values()))), default={})


def more_where_random(rows: Rows) -> Measurement | None:
    """Return by how much the lead of `from_path` is larger where timing is random than where it is regular, in medians."""
    leads = [_leads(rows, timing) for timing in ("random", "regular")]
    found = _pairs(*leads) if all(leads) else []
    return bootstrap(found) if found else None


def _by_seed(rows: Rows, name: str) -> Seeds:
    return {int(number(row, "seed")): number(row, name) for row in rows}


def _pairs(one: Seeds, other: Seeds) -> list[float]:
    return [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]


def _mean(found: Sequence[list[float]], sign: int = 1) -> Measurement | None:
    """The mean over seeds of those with the greatest mean, with sign -1 of those with the least."""
    values = max((each for each in found if each), key=lambda each: sign * float(np.mean(each)), default=[])
    return bootstrap(values, np.mean) if values else None
