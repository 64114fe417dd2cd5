"""What sites are called, and which are too small to be asked on their own."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in.cells import is_missing

LEAST = 20
"""Rows below which a site is too small to be asked on its own."""

SMALL = "(small sites)"


def site_names(labels: NDArray[Any]) -> NDArray[Any]:
    """Return what the rows' sites are called: "(missing)" where none is named, and 1.0 is 1."""
    return np.array(["(missing)" if gone else named(label) for label, gone in zip(labels, is_missing(labels), strict=True)])


def named(label: object) -> str:
    """Return a label as text; a column of whole numbers is one of floats where some are missing."""
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
