"""Columns known in training only become numbers, step by step in time; all have as many columns, whatever their cells hold."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mechlearn.tables.reading_in import Column, Encoding, Numbers, encoding_of, is_missing
from mechlearn.tables.reports.questions import Columns


def encoded_steps(columns: Columns, steps: Sequence[Sequence[str]]) -> list[Numbers]:
    """Return (n, Q) numbers of each step, a missing one NaN; Q is the same for all.

    The first columns of all steps are taken to be the same one at other times, and so on: where one of them has gaps all get
    the column that says so, and all get a column for each text that one of them holds.

    Args:
        columns: by name.
        steps: names of each step's columns, as many in every one.
    """
    widths = [len(step) for step in steps]
    if len(set(widths)) > 1:
        raise ValueError(
            f"Steps in time should have as many columns. Found {', '.join(map(str, widths))}. Name the same columns of each."
        )
    each = [encoding_of({name: columns[name] for name in step}).columns for step in steps]
    alike = zip(*(_alike(same, columns) for same in zip(*each, strict=True)), strict=True)
    return [Encoding(tuple(step)).encoded(columns) for step in alike]


def _alike(same: Sequence[Column], columns: Columns) -> list[Column]:
    """One column at all times, encoded alike; where it is empty it says nothing of what it holds."""
    filled = [column for column in same if not is_missing(columns[column.name]).all()]
    texts = [column for column in filled if column.categories is not None]
    if texts and len(texts) < len(filled):
        number = next(column for column in filled if column.categories is None)
        raise ValueError(
            f"Steps in time should have the same columns, in the same order. Found numbers in {number.name!r} and texts in "
            f"{texts[0].name!r}. Name the same columns of each."
        )
    known = np.unique([category for column in texts for category in column.categories or ()])
    categories = tuple(known.tolist()) if texts else None
    missing = any(column.missing for column in same)
    return [replace(column, categories=categories, missing=missing) for column in same]
