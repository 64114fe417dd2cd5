"""What the claims of SiteBench measure: what reports said of twelve sites, against further ones."""

from collections.abc import Callable, Sequence
from statistics import fmean, median

from claimlab import EachSeed, Measure, Measurement, Row, Rows, bootstrap, number

FELT = 3.0
"""Points of room from which on labelled rows should close half of it."""


def mean_of(key: str, *groups: str) -> EachSeed:
    """Return a measure: the mean over tables of a number."""
    return _over(groups, lambda row: number(row, key) if key in row else None, fmean)


def closed(*groups: str) -> EachSeed:
    """Return a measure: the share of the room that twenty labelled rows close, median over tables with a room."""

    def share(row: Row) -> float | None:
        felt = _has_room(row)
        return number(row, "labelled further") / number(row, "room further") if felt else None

    return _over(groups, share, median)


def cost(*groups: str) -> EachSeed:
    """Return a measure: the points that twenty labelled rows add where there is no room, mean over tables."""
    return _over(groups, lambda row: number(row, "labelled further") if _has_room(row) is False else None, fmean)


def most_gained(names: Sequence[str], over: str = "best simple") -> Measure:
    """Return a measure: the points that the best of some candidates gains, median over tables, with its interval."""

    def measure(rows: Rows) -> Measurement | None:
        found = [_gains(rows, name, over) for name in names]
        return max((bootstrap(one) for one in found if one), key=lambda one: one.value, default=None)

    return measure


def _gains(rows: Rows, name: str, over: str) -> list[float]:
    found = rows.where(kind="candidate")
    base = {(row["seed"], row["table"]): number(row, "score") for row in found.where(candidate=over)}
    return [number(row, "score") - base[row["seed"], row["table"]] for row in found.where(candidate=name)]


def _has_room(row: Row) -> bool | None:
    known = "labelled further" in row and "room further" in row
    return number(row, "room further") >= FELT if known else None


def _over(groups: Sequence[str], value: Callable[[Row], float | None], over: Callable[[list[float]], float]) -> EachSeed:
    def one(rows: Rows) -> float | None:
        asked = [row for row in rows.where(kind="table") if row["group"] in groups]
        found = [number for row in asked if (number := value(row)) is not None]
        return over(found) if found else None

    return EachSeed(one)
