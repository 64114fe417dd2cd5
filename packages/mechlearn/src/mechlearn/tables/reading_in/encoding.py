"""Columns of any kind to numbers: what a model keeps, to encode another table alike."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in.cells import (
    MOST,
    Numbers,
    as_numbers,
    check_column,
    check_finite,
    counted,
    is_missing,
    is_number,
    kind,
    strays,
)
from mechlearn.tables.reading_in.columns import nearest
from mechlearn.tables.reading_in.sites import named

OFTEN, COVERED = 5, 0.5
"""Rows from which a text is often there, and share of the rows that frequent texts should cover where there are many others."""

_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}([T ]\d{1,2}:\d{2}.*)?$")
"""Of a date that is a text: in files only those that begin with the year are read as dates (`mechlearn.tables.reading`)."""


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
            numbers = as_numbers(values)[:, None]
        else:
            texts = np.array([None if gone else named(value) for value, gone in zip(values, absent, strict=True)], dtype=object)
            numbers = np.zeros((len(texts), len(self.categories)))
            for place, category in enumerate(self.categories):
                numbers[:, place] = texts == category
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
        """Return (n, J) numbers."""
        for column in self.columns:
            _check_column(column, table)
        return np.concatenate([column.encoded(table[column.name]) for column in self.columns], 1)


def _check_column(column: Column, table: Mapping[str, NDArray[Any]]) -> None:
    if column.name not in table:
        raise ValueError(f"A table should have the columns trained on. Found no {column.name!r}. {nearest(column.name, table)}")
    values = table[column.name]
    what = kind(values)
    if column.categories is None and what != "numbers" and not is_missing(values).all():
        found = f"texts, {strays(values)}" if what == "texts" else what
        raise ValueError(f"Column {column.name!r} should hold numbers, as in training. Found {found}. Mend the column.")
    if what == "numbers":
        check_finite(column.name, values)


def encoding_of(columns: Mapping[str, NDArray[Any]]) -> Encoding:
    """Return how columns become numbers; constant ones too, since another site may know them otherwise.

    Of a column of more than `MOST` texts the frequent ones are categories, and the others are none of them. No target is read.
    """
    refuse_all(refusals(columns))
    found: list[Column] = []
    for name, values in columns.items():
        categories = None if kind(values) == "numbers" else tuple(sorted(frequent(counted(values))))
        found.append(Column(name, categories, bool(is_missing(values).any())))
    return Encoding(tuple(found))


def frequent(counts: Counter[str]) -> dict[str, int]:
    """Return the texts that become categories: all of a few, else the most frequent ones, each in `OFTEN` rows at least."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST]
    return {text: rows for text, rows in ordered if len(counts) <= MOST or rows >= OFTEN}


def refusals(columns: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Return a sentence for each column that cannot be encoded."""
    found: dict[str, str] = {}
    for name, values in columns.items():
        try:
            check_column(name, values)
            _check_encodable(name, values)
        except ValueError as error:
            found[name] = str(error)
    return found


def refuse_all(sentences: Mapping[str, str], way_out: str | None = None) -> None:
    """Reject columns, all in one list that ends with a way out: the options that leave all out if None."""
    if not sentences:
        return
    first = next(iter(sentences.values()))
    if len(sentences) == 1:
        raise ValueError(first)
    drops = " ".join(f"--drop {shlex.quote(name)}" for name in sentences)
    listed = "\n".join(f"  {sentence}" for sentence in sentences.values())
    last = way_out or f"Mend them, or leave all out: {drops}"
    raise ValueError(f"{len(sentences)} columns cannot be used as they are:\n{listed}\n{last}")


def _check_encodable(name: str, values: NDArray[Any]) -> None:
    what = kind(values)
    counts = counted(values) if what == "texts" else Counter[str]()
    if what == "dates" or (counts and all(_DATE.match(text) for text in counts)):
        raise ValueError(
            f"Columns should hold numbers or categories. Found dates in {name!r}. Give what matters of them, the hour, an age, "
            f"the season, or leave the column out: --drop '{name}'."
        )
    if what == "others":
        found = type(values[~is_missing(values)][0]).__name__
        raise ValueError(f"Columns should hold numbers or texts. Found {found} in {name!r}. Leave it out: --drop '{name}'.")
    if len(counts) > MOST and all(map(is_number, counts)):
        found = f"texts of them in {name!r}, such as {next(iter(counts))!r}"
        raise ValueError(f"Numbers should be numbers. Found {found}. Convert them, or leave them out: --drop '{name}'.")
    if sum(frequent(counts).values()) < COVERED * counts.total():
        raise ValueError(
            f"A column of texts should hold at most {MOST} categories, or {MOST} that half of the rows have. Found "
            f"{len(counts)} in {name!r}. Group them, or leave the column out: --drop '{name}'."
        )
