"""Sentences on a table: what was done to it, and what in it should be looked at."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mechlearn.tables.reading_in.cells import (
    Doubt,
    Numbers,
    as_numbers,
    counted,
    is_missing,
    is_number,
    kind,
    listed,
    numbers_rows,
)
from mechlearn.tables.reading_in.encoding import Encoding
from mechlearn.tables.reading_in.sites import LEAST, nameless
from mechlearn.tables.scores import auc

FEW = 5
"""Rows of a class below which a note names the classes."""


def rare_classes(codes: Numbers, classes: tuple[Any, ...] | None) -> list[str]:
    """Return a sentence that names the classes where one has few rows: perhaps the target is none of classes."""
    counts = codes.sum(0).astype(np.int64)
    if classes is None or counts.min() >= FEW:
        return []
    rare = [f"{label!s:.40} ({count})" for label, count in zip(classes, counts, strict=True) if count < FEW]
    named = [f"{label!s:.40}" for label in classes]
    return [
        Doubt(
            f"The target is taken for classes, {len(named)} of them: {listed(named, 12)}. Fewer than {FEW} rows are of "
            f"{listed(rare)}: mend these cells if they are none, or ask for regression."
        )
    ]


def no_inputs(columns: Mapping[str, NDArray[Any]], target: NDArray[Any]) -> list[str]:
    """Return a sentence for each column that numbers the rows, or that goes with the target; of few rows many do by chance."""
    if len(target) < LEAST:
        return []
    codes = _places(target)
    notes: list[str] = []
    for name, values in columns.items():
        drop = f"If it is known only when the target is, --drop '{name}'."
        same = values.dtype.kind in "iuf" and target.dtype.kind in "iuf" and np.array_equal(values, target)
        if same or _goes_with(_places(values), codes):
            notes.append(f"{name} says what the target is, value by value. {drop}")
        elif (told := _filled_only(values, target, codes)) or (told := _ranks(values, target, codes)):
            notes.append(f"{name} says what the target is: {told}. {drop}")
        elif numbers_rows(values):
            whole = "a whole number in each row and none of them twice"
            notes.append(f"{name} looks like an identifier, {whole}. If it is, --drop '{name}'.")
    return list(map(Doubt, notes))


def _places(values: NDArray[Any]) -> NDArray[np.int64]:
    """(n,) numbers of a column's different values from 0; what is missing is a value, too."""
    absent = is_missing(values)
    known = values.astype(str) if values.dtype.kind == "O" else values
    found, places = np.unique(known[~absent], return_inverse=True)
    all_places = np.full(len(values), len(found), dtype=np.int64)
    all_places[~absent] = places
    return all_places


CHANCE = 1e-6
"""How unlikely it should be that all rows with a filled cell have one class."""

GOOD, FILLED = 0.98, 0.95
"""AUC or rank correlation from which one column alone is too good to be true, and AUC from which its gaps alone are."""


def _filled_only(values: NDArray[Any], target: NDArray[Any], codes: NDArray[np.int64]) -> str:
    """In words, whether a column is filled in, or empty, only where the target is one class, as `time_of_death` is."""
    gone = is_missing(values)
    if codes.max() >= FEW_CLASSES:
        return ""
    for word, rows in (("filled in", ~gone), ("empty", gone)):
        if rows.any() and not rows.all() and len(np.unique(codes[rows])) == 1:
            place = int(codes[rows][0])
            if float(np.mean(codes == place)) ** int(rows.sum()) < CHANCE:
                return f"it is {word} only where the target is {target[codes == place][0]}"
    return ""


def _ranks(values: NDArray[Any], target: NDArray[Any], codes: NDArray[np.int64]) -> str:
    """In words, whether a column's gaps or numbers part two classes, or order the target, nearly without an error."""
    gone = is_missing(values)
    if codes.max() == 1 and gone.any() and (good := _auc(codes, gone.astype(np.float64))) >= FILLED:
        return f"whether it is filled in has an AUC of {good:.3f}, which is too good to be true"
    known = ~gone
    if kind(values) != "numbers" or known.sum() < LEAST or len(np.unique(codes[known])) < 2:
        return ""
    numbers = as_numbers(values)[known]
    if codes.max() == 1 and (good := _auc(codes[known], numbers)) >= GOOD:
        return f"alone it has an AUC of {good:.3f}, which is too good to be true"
    if codes.max() >= FEW_CLASSES and kind(target) == "numbers" and np.ptp(numbers) > 0:
        good = abs(float(np.corrcoef(rankdata(numbers), rankdata(as_numbers(target)[known]))[0, 1]))
        return f"alone it has a rank correlation of {good:.3f}, which is too good to be true" if good >= GOOD else ""
    return ""


def _auc(codes: NDArray[np.int64], numbers: Numbers) -> float:
    """The AUC of a column of numbers for two classes, whichever is the higher one."""
    found = auc(codes == 1, numbers)
    return max(found, 1 - found)


FEW_CLASSES = 20
"""Values of a target up to which they are classes here."""


def _goes_with(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether each value goes with one of the other column's, and back; where most come once only that says nothing."""
    values = int(one.max()) + 1
    if values != int(other.max()) + 1 or 2 * values > len(one):
        return False
    return len(np.unique(one * values + other)) == values


def notes_on(columns: Mapping[str, NDArray[Any]], encoding: Encoding, labels: NDArray[Any], x: Numbers) -> list[str]:
    """Return sentences on missing values, on numbers taken for categories, on rows without a site, and on too few rows."""
    notes: list[str] = []
    if any(column.missing for column in encoding.columns):
        absent = {column.name: int(is_missing(columns[column.name]).sum()) for column in encoding.columns if column.missing}
        first = ", ".join(f"{name} ({count})" for name, count in list(absent.items())[:5])
        notes.append(
            f"Missing values in {len(absent)} columns: {first}. "
            "Numbers become the training rows' mean, with a column that says so."
        )
    for column in encoding.columns:
        numbers = [text for text in column.categories or () if is_number(text)]
        if numbers and len(numbers) < len(column.categories or ()):
            notes.append(
                f"{column.name} holds numbers ({', '.join(numbers[:5])}) and texts: taken as {len(column.categories or ())} "
                "categories."
            )
    for column in encoding.columns:
        counts = counted(columns[column.name]) if column.categories is not None else Counter[str]()
        if len(counts) > len(column.categories or ()):
            often = column.categories or ()
            rest = counts.total() - sum(counts[text] for text in often)
            first = f"{column.name} holds {len(counts)} texts: the {len(often)} most frequent are categories"
            notes.append(f"{first}, and {rest} rows have none of them.")
    gone = int(nameless(labels).sum())
    if gone:
        notes.append(f"{gone} rows name no site: they are one of their own.")
    if x.shape[1] > len(x):
        notes.append(f"{x.shape[1]} columns for {len(x)} rows: more columns than rows, so little can be told apart.")
    return notes


def repeated(x: Numbers, y: Numbers, site: NDArray[np.int64]) -> list[str]:
    """Return a sentence on rows that are there more than once; none where so many are alike by chance.

    By chance: unless some column tells a hundred rows apart and copies are more than twice as many as pairs of rows that
    would be alike if columns had nothing to do with each other.
    """
    rows = np.column_stack([x, y]) + 0.0  # -0.0 becomes 0.0
    hashes = np.fromiter((hash(row.tobytes()) for row in rows), np.int64, len(rows))
    _, where, back = np.unique(hashes, return_index=True, return_inverse=True)
    first = np.sort(where)
    copies, across = len(rows) - len(first), int((site != site[where][back]).sum())
    if not copies:
        return []
    alike = [_alike(column) for column in rows[first[:: max(1, len(first) // 2000)]].T]
    if min(alike) > 0.01 or copies <= len(rows) ** 2 * math.prod(alike):
        return []
    apart = f" {across} of them are at another site, which is then no new one." if across else ""
    return [
        Doubt(
            f"{copies} of {len(rows)} rows are exact copies of others.{apart} Tests count them as new evidence, so that all "
            "here looks surer than it is: leave copies out, unless they are cases of their own."
        )
    ]


def _alike(column: Numbers) -> float:
    """How often two rows have the same value."""
    counts = np.unique(column, return_counts=True)[1]
    return float((counts * (counts - 1)).sum()) / (len(column) * (len(column) - 1))
