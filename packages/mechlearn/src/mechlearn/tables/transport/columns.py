"""Columns that say which site a row is from: constant within sites, or in another unit at some."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in import SMALL, Table, listed
from mechlearn.tables.transport.folds import held_out

FACTORS = {
    10.0: "", 100.0: "", 1000.0: "", 1e4: "", 1e6: "", 60.0: "minutes and seconds, or hours and minutes",
    24.0: "days and hours", 7.0: "weeks and days", 12.0: "years and months, or feet and inches",
    2.54: "inches and centimetres", 2.2046: "kilograms and pounds", 1.609: "miles and kilometres", 3.281: "metres and feet",
    4.184: "calories and joules", 18.02: "glucose in mmol/l and mg/dl", 88.42: "creatinine in mg/dl and umol/l",
    38.67: "cholesterol in mmol/l and mg/dl", 17.1: "bilirubin in mg/dl and umol/l",
}  # fmt: skip
"""Ratios of units that are often mixed up, with what they may be."""

FEWEST, UNSURE = 4, float(np.log(2.5))
"""Sites from which on one can tell, and three standard errors of a ratio's logarithm above which nearly any factor fits."""


class Ratio(NamedTuple):
    """A column that is so many times larger at some sites, and those of `FACTORS` that this may be, the nearest first."""

    column: str
    sites: tuple[str, ...]
    measured: float
    factors: tuple[float, ...]


def second_level(table: Table) -> tuple[str, ...]:
    """Return the columns that are constant within every site and differ between sites."""
    first = np.searchsorted(table.site, np.arange(len(table.sites)))
    small = np.array([name == SMALL for name in table.sites])[table.site]
    x = np.nan_to_num(table.x, nan=-np.inf)  # a gap is a value, too
    constant = (x == x[first][table.site])[~small].all(0) & (x != x[:1]).any(0)
    return tuple(name for name, one in zip(table.names, constant, strict=True) if one)


def notes_on_second_level(columns: Sequence[str], sites: int) -> list[str]:
    """Return a sentence on such columns."""
    if not columns:
        return []
    is_it = "is constant within every site: it is" if len(columns) == 1 else "are constant within every site: they are"
    return [f"{listed(columns)} {is_it} a site's name in disguise, and what {sites} sites say of it is {sites} values."]


def unit_ratios(table: Table) -> list[Ratio]:
    """Return columns whose values at fewer than half of the sites are a known factor of those at the others.

    A site is its median logarithm. Both groups are narrower than half of the distance between them, which the factor explains
    within three standard errors and an eighth.
    """
    sites = held_out(table)
    found: list[Ratio] = []
    if len(sites) < FEWEST:
        return found
    for place, name in enumerate(table.names):
        values = table.x[:, place]
        logs = [_logs(values[table.site == site]) for site in sites]
        if any(one is None for one in logs) or len(np.unique(values[np.isfinite(values)])) < 10:
            continue
        medians = np.array([np.median(one) for one in logs if one is not None])
        away = medians - np.median(medians)
        for side in (1, -1):
            ratio = _ratio(side * away, name, [table.sites[site] for site in sites])
            if ratio is not None:
                found.append(ratio._replace(measured=ratio.measured**side))
    return found


def _ratio(away: NDArray[np.float64], column: str, sites: Sequence[str]) -> Ratio | None:
    """The ratio of the sites above the widest gap, if it is one of units."""
    order = np.argsort(away)
    cut = int(np.argmax(np.diff(away[order]))) + 1
    others, there = away[order[:cut]], away[order[cut:]]
    distance = float(there.mean() - others.mean())
    if len(there) >= len(others) or max(np.ptp(there), np.ptp(others)) > distance / 2:
        return None
    error = 3 * float(others.std()) * np.sqrt(1 / len(there) + 1 / len(others)) + 0.03
    if error > UNSURE:
        return None
    near = [one for one in FACTORS if abs(distance - np.log(one)) < min(error, distance / 8)]
    near.sort(key=lambda one: abs(distance - np.log(one)))
    named = tuple(sites[int(place)] for place in np.sort(order[cut:]))
    return Ratio(column, named, float(np.exp(distance)), tuple(near)) if near else None


def notes_on_units(found: Sequence[Ratio]) -> list[str]:
    """Return a sentence for each column in another unit at some sites; it names sites."""
    said: list[str] = []
    for one in found:
        times = f"{one.measured:.2g} times" if one.measured >= 1 else f"1/{1 / one.measured:.2g} of"
        factors = [f"{factor:g}{f' for {FACTORS[factor]}' if FACTORS[factor] else ''}" for factor in one.factors[:2]]
        where = f"{one.column} is about {times} what it is elsewhere at {listed(one.sites)}"
        said.append(f"{where}: perhaps another unit ({' or '.join(factors)}).")
    return said


def _logs(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Logarithms, if nearly all values that there are are positive and there are five at least."""
    known = values[np.isfinite(values)]
    positive = known[known > 0]
    return np.log(positive) if len(positive) >= max(5, 0.8 * len(known)) else None
