"""Sentences on values that are perhaps not what they seem: codes for missing, sites in other units, categories spelt twice."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in.cells import Doubt, Numbers, as_numbers, kind, listed, numbers_rows
from mechlearn.tables.reading_in.encoding import Encoding
from mechlearn.tables.reading_in.sites import LEAST

OFTEN, SHARE = 5, 0.01
"""Rows and share of rows from which a value comes often."""

DIFFERENT = 5
"""Values of a column, without the one in doubt or at one site, below which it says little of where values lie."""


def placeholders(columns: Mapping[str, NDArray[Any]], target: NDArray[Any]) -> list[str]:
    """Return a sentence for each column of numbers with a value, such as -999, that comes often and far from all others.

    Far is farther from the nearest than nine tenths of the others are wide. A code repeats 7, 8 or 9, or is the only number
    below 0: a company's 10,000 is none. Nobody can tell a code from a measurement by this alone, so that nothing is changed.
    """
    named = [(name, f"empty these cells, or --drop '{name}'", values) for name, values in columns.items()]
    notes: list[str] = []
    for name, way_out, values in [("the target", "empty these cells, and leave their rows out (--labelled)", target), *named]:
        if kind(values) != "numbers":
            continue
        numbers, what = as_numbers(values), "looks like a code for missing, far from all other values"
        for value, count in _far(numbers[~np.isnan(numbers)]):
            notes.append(Doubt(f"{value:g} in {name} ({count} rows) {what}. If it is, {way_out}."))
    return notes


def _far(numbers: Numbers) -> list[tuple[float, int]]:
    """The least and the greatest value where they come often and far from all others, and how often."""
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= DIFFERENT:
        return []
    found: list[tuple[float, int]] = []
    for place, beside in ((0, 1), (-1, -2)):
        value, count = float(values[place]), int(counts[place])
        if not _is_code(value, values) or not max(OFTEN, SHARE * len(numbers)) <= count <= len(numbers) / 2:
            continue
        others = numbers[numbers != value]
        low, high = np.quantile(others, (0.05, 0.95))  # another code among them must not hide this one
        width = float(high - low) or float(np.ptp(others))
        if abs(value - float(values[beside])) > width:
            found.append((value, count))
    return found


def _is_code(value: float, values: Numbers) -> bool:
    """Whether somebody may have made it up: 9, 99, 888, 7777 and so on, or below 0 where nothing else is."""
    digits = f"{abs(value):.10g}"
    return (len(set(digits)) == 1 and digits[0] in "789") or (value < 0 and bool((values[values != value] >= 0).all()))


def units(columns: Mapping[str, NDArray[Any]], names: NDArray[Any]) -> list[str]:
    """Return a sentence for each column of numbers whose sites fall into groups of which no two have a value in common.

    A site counts with `LEAST` rows and `DIFFERENT` values; its range leaves out a hundredth of its rows at each end. No site is
    named: ranges say where to look. `names` (n,) are the sites of the rows.
    """
    notes: list[str] = []
    places = [np.flatnonzero(names == name) for name in np.unique(names)]
    for column, values in columns.items():
        if kind(values) != "numbers" or numbers_rows(values):
            continue
        numbers = as_numbers(values)
        groups = _groups([span for rows in places if (span := _span(numbers[rows])) is not None])
        if len(groups) < 2:
            continue
        most = max(groups, key=len)
        few = min((group for group in groups if group is not most), key=len)
        beside = [(min(low for low, _ in group), max(high for _, high in group)) for group in (few, most)]
        (low, high), (others_low, others_high) = beside
        count = sum(map(len, groups))
        found = f"{column} has values at {len(few)} of {count} sites ({low:g} to {high:g}) apart from {len(most)} others' "
        way_out = "Look whether units are the same; where they are, it says more of the site than of the row."
        notes.append(Doubt(f"{found}({others_low:g} to {others_high:g}). {way_out}"))
    return notes


def _span(numbers: Numbers) -> tuple[float, float] | None:
    known = numbers[~np.isnan(numbers)]
    if len(known) < LEAST or len(np.unique(known)) < DIFFERENT:
        return None
    low, high = np.quantile(known, (0.01, 0.99))
    return float(low), float(high)


def _groups(spans: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Ranges in groups, each apart from all others."""
    groups: list[list[tuple[float, float]]] = []
    reached = -np.inf
    for low, high in sorted(spans):
        if low > reached:
            groups.append([])
        groups[-1].append((low, high))
        reached = max(reached, high)
    return groups


def spellings(encoding: Encoding, classes: tuple[Any, ...] | None, sites: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return sentences on categories and classes that differ in case or spaces only, and on sites that do."""
    texts = [(f"Categories of {column.name}", column.categories or ()) for column in encoding.columns]
    texts.append(("Classes of the target", tuple(one for one in classes or () if isinstance(one, str))))
    notes = [note for what, names in texts for note in _alike(what, names)]
    return notes, _alike("Sites", sites)


def _alike(what: str, names: Sequence[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(unicodedata.normalize("NFC", name).split()).casefold(), []).append(name)
    twice = [" and ".join(repr(name) for name in group) for group in groups.values() if len(group) > 1]
    if not twice:
        return []
    found, way_out = f"{what} that differ in case or spaces only: {listed(twice)}", "write them alike if they mean the same"
    return [Doubt(f"{found}. Each is one of its own: {way_out}.")]
