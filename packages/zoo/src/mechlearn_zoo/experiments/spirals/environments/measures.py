"""How many environments it takes, and how well a number of them does; best over seeds."""

from typing import Literal

import numpy as np

from claimlab import Measurement, OverSeeds, Rows, number

SUCCESS = 0.9
"""Test accuracy from which on a run has found the spirals; chance is 0.5."""

Method = Literal["mean", "and-mask"]


def best(method: Method, count: int) -> OverSeeds:
    """Return the measure of a method's best test accuracy over seeds, as the texts report it."""
    return OverSeeds("test_accuracy", {"method": method, "environments": count}, statistic=np.max)


def first(rows: Rows, method: Method) -> int:
    """Return the least number of environments with which a method finds the spirals; where none did, twice the largest run."""
    some = rows.where(method=method)
    found = some.where(lambda row: number(row, "test_accuracy") >= SUCCESS)
    return int(min(found["environments"], default=2 * max(some["environments"])))


def first_of_averaging(rows: Rows) -> Measurement | None:
    """Return the number of environments at which averaging first succeeds, best over seeds; ends are those of single seeds.

    None where half of it was not run: then an earlier success was not looked for.
    """
    averaging = rows.where(method="mean")
    if not averaging:
        return None
    found = first(averaging, "mean")
    if found // 2 not in averaging["environments"]:
        return None
    seeds = [first(group, "mean") for group in averaging.by("seed").values()]
    return Measurement(found, min(seeds), max(seeds), len(seeds))


def fewer(rows: Rows) -> Measurement | None:
    """Return how many times as many environments averaging needs as the AND-mask, best over seeds; ends: single seeds.

    Where averaging never succeeds it counts as needing twice the largest number that was run; where the mask does not, it is 0.
    """
    if not rows.where(method="mean") or not rows.where(method="and-mask"):
        return None
    seeds = [_times(group) for group in rows.by("seed").values()]
    value = _times(rows)
    return Measurement(value, min(value, *seeds), max(value, *seeds), len(seeds))


def _times(rows: Rows) -> float:
    masked = first(rows, "and-mask")
    succeeds = masked in rows.where(method="and-mask")["environments"]
    return first(rows, "mean") / masked if succeeds else 0.0
