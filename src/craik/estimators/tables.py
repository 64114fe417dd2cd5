"""Tables of people: columns of any kind to numbers, a target, and the sites that rows come from; what is refused, and why."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from craik.estimators.fitting import Sites, Task

Numbers = NDArray[np.float64]
LEAST = 20
"""Rows below which a site is too small to be asked on its own."""

HUGE = 1e150
"""Size of a number above which it is refused: squares of larger ones cannot be added up in double precision."""

MOSTLY, CODES = 0.9, 20
"""Share of numbers from which a column of texts is taken for one of numbers with cells to mend; different whole numbers up to
which they may be codes instead, as a target's are classes."""

COPIES = "exact copies of others"
"""What the note on repeated rows says of them."""

CLASSES, FEW = "The target is taken for classes", 5
"""How the note begins that names them, and rows below which a class has it written."""

IDENTIFIERS, TELLING = "looks like an identifier", "says what the target is"
"""What notes say of inputs that perhaps are none: one numbers the rows, one goes with the target value by value."""

_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}([T ]\d{1,2}:\d{2}.*)?$")
"""Of a date that is a text: in files only those that begin with the year are read as dates (`craik.estimators.reading`)."""

CODED = "leave them empty; if the numbers are codes, write each with a letter, as c1"
CLASSED = "leave their rows out; if each is a class of its own, ask for classification (--task classification)"
"""Ways out where numbers have some texts among them: of an input and of the target."""


@dataclass(frozen=True)
class Column:
    """How one column becomes numbers.

    Args:
        name: of the column.
        categories: None for numbers; else the texts that get a column of 0 and 1 each (unknown ones get none).
        missing: whether a further column says where the value is missing.
    """

    name: str
    categories: tuple[str, ...] | None = None
    missing: bool = False

    @property
    def names(self) -> list[str]:
        """What the encoded columns are called."""
        values = [self.name] if self.categories is None else [f"{self.name}={category}" for category in self.categories]
        return values + [f"{self.name} missing"] * self.missing

    def encoded(self, values: NDArray[Any]) -> Numbers:
        """Return (n, columns) numbers; a missing number is NaN."""
        absent = is_missing(values)
        if self.categories is None:
            numbers = _as_numbers(values)[:, None]
        else:
            texts = np.array([None if gone else str(value) for value, gone in zip(values, absent, strict=True)], dtype=object)
            numbers = np.stack([texts == category for category in self.categories], 1).astype(np.float64)
        return np.column_stack([numbers, absent.astype(np.float64)]) if self.missing else numbers


@dataclass(frozen=True)
class Encoding:
    """How a table becomes numbers; plain enough for JSON."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the encoded columns are called."""
        return tuple(name for column in self.columns for name in column.names)

    def encoded(self, table: Mapping[str, NDArray[Any]]) -> Numbers:
        """Return (n, J) numbers.

        Raises:
            ValueError: a column that is missing, texts where numbers belong, or numbers that are infinite or above `HUGE`.
        """
        for column in self.columns:
            _check_column(column, table)
        return np.concatenate([column.encoded(table[column.name]) for column in self.columns], 1)


def _check_column(column: Column, table: Mapping[str, NDArray[Any]]) -> None:
    if column.name not in table:
        raise ValueError(f"A table should have the columns trained on. Found no {column.name!r}. {nearest(column.name, table)}")
    values = table[column.name]
    what = kind(values)
    if column.categories is None and what != "numbers" and not is_missing(values).all():
        found = f"texts, {_strays(values)}" if what == "texts" else what
        raise ValueError(f"Column {column.name!r} should hold numbers, as in training. Found {found}. Mend the column.")
    if what == "numbers":
        check_finite(column.name, values)


@dataclass(frozen=True, eq=False)
class Table:
    """A table that can be asked: numbers, a target and sites; rows lie site by site.

    Attributes:
        x: (n, J) numbers, NaN where one is missing.
        names: J.
        y: (n, K) one column of 0 and 1 a class, or (n, 1) numbers.
        classes: K labels, or None for numbers.
        site: (n,) the site of each row, ascending from 0.
        sites: E labels.
        judged: (E,) False where a site cannot be held out: too few rows, or one class.
        notes: sentences on what was done to the table.
    """

    x: Numbers
    names: tuple[str, ...]
    y: Numbers
    classes: tuple[Any, ...] | None
    site: NDArray[np.int64]
    sites: tuple[str, ...]
    judged: NDArray[np.bool_]
    notes: tuple[str, ...]

    @property
    def task(self) -> Task:
        """What the target is."""
        return "regression" if self.classes is None else "classification"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each site."""
        return tuple(np.bincount(self.site, minlength=len(self.sites)).tolist())

    @property
    def labels(self) -> NDArray[np.int64] | Numbers:
        """(n,) positions in `classes`, or the numbers."""
        return self.y[:, 0] if self.classes is None else self.y.argmax(1)

    def sites_of(self, x: Numbers, y: Numbers, weights: Numbers | None = None) -> Sites:
        """Return this table's sites with standardised numbers in single precision."""
        each = np.ones(len(x)) if weights is None else weights
        single = [torch.tensor(values, dtype=torch.float32) for values in (x, y, each)]
        return Sites(single[0], single[1], self.sizes, single[2], self.task)


def prepare(X: Any, y: Any, groups: Any, task: Task | None = None) -> Table:  # noqa: ANN401, N803  # anything that is a table
    """Return a table that can be asked.

    Args:
        X: a data frame (pandas, polars, pyarrow), a mapping of columns, or a matrix.
        y: the target, one for each row.
        groups: the site of each row; a missing one belongs to a site of its own, "(missing)".
        task: "classification" or "regression"; from the target if None.

    Raises:
        TypeError, ValueError: what cannot be asked; the sentence says what, and what to do.
    """
    columns = columns_of(X)
    rows = len(next(iter(columns.values())))
    target, labels = one_dimensional("y", y, rows), one_dimensional("groups", groups, rows)
    check_target(target, task=task)
    codes, classes = _target(target, task)
    names, small = pooled(site_names(labels))
    sites, site = np.unique(names, return_inverse=True)
    if len(sites) < 2:
        raise ValueError(
            f"Sites are compared, so there should be at least two of {LEAST} rows. Found {len(np.unique(labels.astype(str)))} "
            "in all. Name the column that says where a row comes from; with one source, any pooled model will do."
        )
    encoding = encoding_of(columns)
    order = np.argsort(site, kind="stable")
    x, codes, site = encoding.encoded(columns)[order], codes[order], site[order].astype(np.int64)
    judged = np.array([_can_be_judged(name, codes[site == e], classes) for e, name in enumerate(sites)])
    if not judged.any():
        raise ValueError(
            "Some site should hold more than one class. Found one class in every site: site and target say the same."
        )
    notes = [*_rare(codes, classes), *_no_inputs(columns, target)]
    notes += [*_notes(columns, encoding, labels, x), *_repeated(x, codes), *small]
    notes += [
        f"Site {name} holds one class: trained on, not judged."
        for name, able in zip(sites, judged, strict=True)
        if not able and name != SMALL
    ]
    return Table(x, encoding.names, codes, classes, site, tuple(sites.tolist()), judged, tuple(notes))


SMALL = "(small sites)"


def site_names(labels: NDArray[Any]) -> NDArray[Any]:
    """Return what the rows' sites are called: "(missing)" where none is named, and 1.0 is 1."""
    return np.array(["(missing)" if gone else _named(label) for label, gone in zip(labels, is_missing(labels), strict=True)])


def _named(label: object) -> str:
    """A column of whole numbers is one of floats where some are missing."""
    number = float(label) if isinstance(label, float | np.floating) else math.nan
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else str(label)


def pooled(names: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Return the rows' sites with those below `LEAST` rows as one, and a sentence where that was done."""
    found, count = np.unique(names, return_counts=True)
    small = found[count < LEAST]
    if not len(small):
        return names, []
    note = f"{len(small)} of {len(found)} sites have fewer than {LEAST} rows: pooled as one, trained on, not judged."
    return np.where(np.isin(names, small), SMALL, names), [note]


def _can_be_judged(name: str, codes: Numbers, classes: tuple[Any, ...] | None) -> bool:
    return name != SMALL and (classes is None or int((codes.sum(0) > 0).sum()) > 1)


def columns_of(X: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401, N803
    """Return a table's columns by name.

    Raises:
        TypeError: nothing that is a table.
        ValueError: no rows, no columns, columns of different lengths, or two of one name.
    """
    if isinstance(X, Mapping):
        named = [(str(name), np.asarray(values)) for name, values in X.items()]
    elif hasattr(X, "columns") or hasattr(X, "column_names"):
        names = list(getattr(X, "column_names", None) or X.columns)
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Columns should have names of their own. Found {repeated[0]!r} more than once. Rename one of them."
            )
        named = [(str(name), np.asarray(X[name])) for name in names]
    else:
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            raise TypeError(f"X should be a table: a data frame, columns by name or a matrix. Found shape {matrix.shape}.")
        named = [(f"x{index}", matrix[:, index]) for index in range(matrix.shape[1])]
    lengths = {len(values) for _, values in named}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"A table should have columns of one length, above 0. Found lengths {sorted(lengths)}.")
    return dict(named)


def encoding_of(columns: Mapping[str, NDArray[Any]], most: int = 50) -> Encoding:
    """Return how columns become numbers; constant ones too, since another site may know them otherwise.

    Args:
        columns: by name.
        most: categories of a column of texts.

    Raises:
        ValueError: dates, numbers with some texts among them, or more texts than `most`: names and free text are no categories.
    """
    found: list[Column] = []
    for name, values in columns.items():
        what, missing = kind(values), bool(is_missing(values).any())
        if what == "dates":
            raise ValueError(_dates(name))
        if what == "numbers":
            found.append(Column(name, missing=missing))
            continue
        if what == "others":
            raise TypeError(
                f"Columns should hold numbers or texts. Found {type(values[0]).__name__} in {name!r}. Leave it out."
            )
        found.append(Column(name, _categories(name, values, most), missing))
    return Encoding(tuple(found))


def _dates(name: str) -> str:
    return (
        f"Columns should hold numbers or categories. Found dates in {name!r}. Give what matters of them, the hour, an age, the "
        f"season, or leave the column out: --drop '{name}'."
    )


def _categories(name: str, values: NDArray[Any], most: int) -> tuple[str, ...]:
    counts = _counted(values)
    if counts and all(_DATE.match(text) for text in counts):
        raise ValueError(_dates(name))
    _check_strays(name, values, counts, most)
    if len(counts) > most:
        raise ValueError(
            f"A column of texts should hold at most {most} categories. Found {len(counts)} in {name!r}. "
            f"Group them, or leave the column out: --drop '{name}'."
        )
    return tuple(sorted(counts))


def check_cells(columns: Mapping[str, NDArray[Any]], most: int = 50) -> None:
    """Refuse cells that no table may hold, before any of its rows is set apart: a sentence's data rows are those of the file.

    Args:
        columns: by name.
        most: categories of a column of texts.

    Raises:
        ValueError: numbers that are infinite or above `HUGE`, or numbers with some texts among them.
    """
    for name, values in columns.items():
        what = kind(values)
        if what == "numbers":
            check_finite(name, values)
        elif what == "texts":
            _check_strays(name, values, _counted(values), most)


def check_finite(name: str, values: NDArray[Any]) -> None:
    """Refuse numbers that are infinite, or too large for their squares to be added up; missing ones pass.

    Args:
        name: of the column.
        values: (n,) numbers.

    Raises:
        ValueError: one that is infinite or above `HUGE`.
    """
    if values.dtype.kind not in "fO":
        return
    numbers = values if values.dtype.kind == "f" else _as_numbers(values)
    size = np.abs(numbers)
    infinite = np.flatnonzero(np.isinf(size))
    if len(infinite):
        raise ValueError(
            f"Numbers should be finite. Found infinity in {len(infinite)} rows of {name!r}, first in data row "
            f"{infinite[0] + 1} of {len(values)}. Leave them empty, or mend the column."
        )
    huge = np.flatnonzero(size > HUGE)
    if len(huge):
        raise ValueError(
            f"Numbers should be at most {HUGE:g} in size, as their squares are added up. Found larger ones in {len(huge)} rows "
            f"of {name!r}, first {numbers[huge[0]]:g} in data row {huge[0] + 1} of {len(values)}. Give them in "
            "another unit, or mend the column."
        )


def _counted(values: NDArray[Any]) -> Counter[str]:
    return Counter(str(value) for value in values[~is_missing(values)])


def _check_strays(name: str, values: NDArray[Any], counts: Counter[str], most: int, way_out: str = CODED) -> None:
    """Refuse numbers with some texts among them; codes such as 1, 2, 3 and X are categories (`_are_codes`)."""
    numbers = {text for text in counts if _is_number(text)}
    comma = {text for text in counts if text not in numbers and _is_number(text.replace(",", ".", 1))}
    least = MOSTLY if len(counts) <= most else 0.5
    meant = sum(counts[text] for text in numbers | comma)
    if len(numbers) == len(counts) or meant < least * counts.total() or _are_codes(numbers, set(counts) - numbers):
        return
    point = ", with a point for the decimal comma," if comma else ""
    raise ValueError(
        f"A column should hold numbers or categories. Found numbers in {sum(counts[text] for text in numbers)} of "
        f"{counts.total()} filled cells of {name!r}, and texts in the others, {_strays(values)}. Mend these "
        f"cells{point} or {way_out}."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_codes(numbers: set[str], others: set[str]) -> bool:
    """Of a column of both: a few different whole numbers, and words beside them."""
    few = len(numbers) <= CODES and all(float(text).is_integer() for text in numbers)
    return few and all(text.replace(" ", "").isalpha() for text in others)


def _strays(values: NDArray[Any], most: int = 3) -> str:
    """The first different cells that are no numbers, and their rows."""
    first: dict[str, int] = {}
    for row in np.flatnonzero(~is_missing(values)).tolist():
        text = str(values[row])
        if not _is_number(text):
            first.setdefault(text, row)
        if len(first) == most:
            break
    named = [f"{text[:40]!r} in data row {row + 1}" for text, row in first.items()]
    return f"such as {', '.join(named)}" if named else "which are numbers written as texts"


def kind(values: NDArray[Any]) -> str:
    """Return "numbers", "texts", "dates" or "others"."""
    if values.dtype.kind in "biuf":
        return "numbers"
    if values.dtype.kind in "mM":
        return "dates"
    present = values[~is_missing(values)]
    if values.dtype.kind == "U" or all(isinstance(value, str) for value in present):
        return "texts"
    if all(isinstance(value, int | float | np.number | np.bool_) for value in present):
        return "numbers"
    if any(hasattr(value, "isoformat") for value in present):
        return "dates"
    return "texts" if all(isinstance(value, str | int | float | bool | np.number) for value in present) else "others"


def plain(value: object) -> object:
    """Return a value as sentences show it: NumPy's numbers and texts as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _as_numbers(values: NDArray[Any]) -> Numbers:
    absent = is_missing(values)
    return np.where(absent, np.nan, np.where(absent, 0, values)).astype(np.float64)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True where a value is None, NaN, or another kind of nothing that differs from itself."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([value is None or type(value).__name__ == "NAType" or _is_nan(value) for value in values], dtype=bool)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def one_dimensional(name: str, values: Any, rows: int) -> NDArray[Any]:  # noqa: ANN401
    """Return one value for each row.

    Raises:
        ValueError: another shape.
    """
    if values is None:
        raise ValueError(
            f"`{name}` should hold one value for each of the {rows} rows. Found None. Name the column that says it."
        )
    found = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if found.dtype.kind == "O" and found.ndim == 1 and not any(isinstance(value, str) or value is None for value in found):
        with suppress(ValueError):  # ragged lists: refused below
            found = np.asarray(found.tolist())
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (rows,):
        raise ValueError(
            f"`{name}` should hold one value for each of the {rows} rows. Found shape {found.shape}. "
            "Targets of survival or ranking are pairs and lists: ask about one number or one class."
        )
    return found


def check_target(target: NDArray[Any], name: str | None = None, task: Task | None = None, most: int = 50) -> None:
    """Refuse what cannot be predicted.

    Args:
        target: (n,) of each row.
        name: of its column; "y" in sentences if None.
        task: that is asked for; from the target if None.
        most: different texts up to which they are classes rather than numbers with cells to mend (`check_cells`).

    Raises:
        ValueError: a target that is missing in some rows, infinite or above `HUGE`, no number or class, always the same, or of
            numbers with some texts among them where no task is asked for: one such cell would make classes of all numbers.
    """
    column, absent = name or "y", np.flatnonzero(is_missing(target))
    if len(absent):
        raise ValueError(
            f"The target should be known in every row. Found {len(absent)} missing of {column!r}, first in data row "
            f"{absent[0] + 1} of {len(target)}. Leave these rows out, or where cells say NA or none and mean a class, give "
            "it another name."
        )
    if kind(target) in ("dates", "others"):
        raise ValueError(f"The target should be a number or a class. Found {kind(target)}. Say what of it is to be predicted.")
    if kind(target) == "numbers":
        check_finite(column, target)
    if kind(target) == "texts" and task is None:
        _check_strays(column, target, _counted(target), most, CLASSED)
    if len(np.unique(target.astype(str) if target.dtype.kind == "O" else target)) < 2:
        raise ValueError(
            f"The target should take two values or more. Found {plain(target[0])!r} only in {column!r}. "
            "There is nothing to predict."
        )


def _target(target: NDArray[Any], task: Task | None) -> tuple[Numbers, tuple[Any, ...] | None]:
    numeric = kind(target) == "numbers" and target.dtype.kind != "b"
    values = target.astype(np.float64) if numeric else target.astype(str)
    distinct = np.unique(values)
    whole = numeric and bool((values == np.round(values)).all())
    if task is None:
        task = "regression" if numeric and not (whole and len(distinct) <= 20) else "classification"
    if task == "regression":
        if not numeric:
            raise ValueError(
                f"A regression's target should hold numbers. Found texts, {_strays(target)}. Mend these cells, or ask for "
                "classification."
            )
        return values[:, None], None
    if len(distinct) > 100:
        way_out = "Ask for regression." if numeric else f"It holds texts, {_strays(target)}: mend them to ask for regression."
        raise ValueError(f"A classification's target should have at most 100 classes. Found {len(distinct)}. {way_out}")
    if numeric and whole:
        distinct = distinct.astype(np.int64)
    return (values[:, None] == distinct).astype(np.float64), tuple(distinct.tolist())


def _rare(codes: Numbers, classes: tuple[Any, ...] | None) -> list[str]:
    """Return a sentence that names the classes where one has few rows: perhaps the target is none of classes."""
    counts = codes.sum(0).astype(np.int64)
    if classes is None or counts.min() >= FEW:
        return []
    rare = [f"{label!s:.40} ({count})" for label, count in zip(classes, counts, strict=True) if count < FEW]
    named = [f"{label!s:.40}" for label in classes]
    return [
        f"{CLASSES}, {len(named)} of them: {_first(named, 12)}. Fewer than {FEW} rows are of {_first(rare, 5)}: mend these "
        "cells if they are none, or ask for regression."
    ]


def _no_inputs(columns: Mapping[str, NDArray[Any]], target: NDArray[Any]) -> list[str]:
    """Return a sentence for each column that numbers the rows, or that goes with the target; of few rows many do by chance."""
    if len(target) < LEAST:
        return []
    codes = _places(target)
    notes: list[str] = []
    for name, values in columns.items():
        if _is_same(values, target) or _goes_with(_places(values), codes):
            notes.append(f"{name} {TELLING}, value by value. If it is known only when the target is, --drop '{name}'.")
        elif _numbers_rows(values):
            notes.append(f"{name} {IDENTIFIERS}, a whole number in each row and none of them twice. If it is, --drop '{name}'.")
    return notes


def _places(values: NDArray[Any]) -> NDArray[np.int64]:
    """(n,) numbers of a column's different values from 0; what is missing is a value, too."""
    absent = is_missing(values)
    known = values.astype(str) if values.dtype.kind == "O" else values
    found, places = np.unique(known[~absent], return_inverse=True)
    all_places = np.full(len(values), len(found), dtype=np.int64)
    all_places[~absent] = places
    return all_places


def _is_same(values: NDArray[Any], target: NDArray[Any]) -> bool:
    return values.dtype.kind in "iuf" and target.dtype.kind in "iuf" and np.array_equal(values, target)


def _goes_with(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether each value goes with one of the other column's, and back; where most come once only that says nothing."""
    values = int(one.max()) + 1
    if values != int(other.max()) + 1 or 2 * values > len(one):
        return False
    return len(np.unique(one * values + other)) == values


def _numbers_rows(values: NDArray[Any]) -> bool:
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.round(values)).all()))
    return whole and len(np.unique(values)) == len(values)


def _first(names: Sequence[str], most: int) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _notes(columns: Mapping[str, NDArray[Any]], encoding: Encoding, labels: NDArray[Any], x: Numbers) -> list[str]:
    notes: list[str] = []
    if any(column.missing for column in encoding.columns):
        absent = {column.name: int(is_missing(columns[column.name]).sum()) for column in encoding.columns if column.missing}
        listed = ", ".join(f"{name} ({count})" for name, count in list(absent.items())[:5])
        notes.append(
            f"Missing values in {len(absent)} columns: {listed}. "
            "Numbers become the training rows' mean, with a column that says so."
        )
    for column in encoding.columns:
        numbers = [text for text in column.categories or () if _is_number(text)]
        if numbers and len(numbers) < len(column.categories or ()):
            notes.append(
                f"{column.name} holds numbers ({', '.join(numbers[:5])}) and texts: taken as {len(column.categories or ())} "
                "categories."
            )
    if is_missing(labels).any():
        notes.append(f"{int(is_missing(labels).sum())} rows name no site: they are one of their own.")
    if x.shape[1] > len(x):
        notes.append(f"{x.shape[1]} columns for {len(x)} rows: more columns than rows, so little can be told apart.")
    return notes


def _repeated(x: Numbers, y: Numbers) -> list[str]:
    """Return a sentence on rows that are there more than once; none where so many are alike by chance.

    By chance: unless some column tells a hundred rows apart and copies are more than twice as many as pairs of rows that
    would be alike if columns had nothing to do with each other.
    """
    rows = np.column_stack([x, y]) + 0.0  # -0.0 becomes 0.0
    hashes = np.fromiter((hash(row.tobytes()) for row in rows), np.int64, len(rows))
    first = np.sort(np.unique(hashes, return_index=True)[1])
    copies = len(rows) - len(first)
    if not copies:
        return []
    alike = [_alike(column) for column in rows[first[:: max(1, len(first) // 2000)]].T]
    if min(alike) > 0.01 or copies <= len(rows) ** 2 * math.prod(alike):
        return []
    return [
        f"{copies} of {len(rows)} rows are {COPIES}. Tests count them as new evidence, so that all here looks surer than it "
        "is: leave copies out, unless they are cases of their own."
    ]


def _alike(column: Numbers) -> float:
    """How often two rows have the same value."""
    counts = np.unique(column, return_counts=True)[1]
    return float((counts * (counts - 1)).sum()) / (len(column) * (len(column) - 1))


def nearest(name: str, names: Mapping[str, Any] | Sequence[str]) -> str:
    """Return a sentence with the likeliest name, or all there are."""
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name, [*names], n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(list(names)[:12])}."


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and spreads of training rows; a missing number becomes the mean."""

    mean: Numbers
    spread: Numbers

    @classmethod
    def of(cls, x: Numbers, weights: Numbers | None = None) -> "Scaling":
        """Return those of some rows, weighted; a constant column has spread 1."""
        w = np.where(np.isnan(x), 0.0, 1.0 if weights is None else weights[:, None])
        total = np.maximum(w.sum(0), 1e-300)
        mean = (w * np.nan_to_num(x)).sum(0) / total
        spread = np.sqrt((w * np.nan_to_num(x - mean) ** 2).sum(0) / total)
        return cls(mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-30), spread, 1.0))

    def applied(self, x: Numbers) -> Numbers:
        """Return standardised rows."""
        return np.nan_to_num((x - self.mean) / self.spread, nan=0.0)
