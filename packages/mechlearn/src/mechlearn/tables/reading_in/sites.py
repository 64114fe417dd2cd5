"""What sites are called, and which are too small to be asked on their own."""

import math
import unicodedata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in.cells import NOTHING, is_missing

LEAST = 20
"""Rows below which a site is too small to be asked on its own."""

SMALL = "(small sites)"


def site_names(labels: NDArray[Any]) -> NDArray[Any]:
    """Return what the rows' sites are called: "(missing)" where none is named, and 1.0 is 1.

    Spellings of one text that Unicode takes for the same are one site. Where a site is really called "(missing)" the rows
    without one are "(no site)".
    """
    names = [None if lost else named(label) for label, lost in zip(labels, nameless(labels), strict=True)]
    nowhere = "(no site)" if "(missing)" in names else "(missing)"
    return np.array([nowhere if name is None else name for name in names])


def nameless(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (n,) True where a row names no site: it is missing, or a text that means nothing, as an input's would."""
    texts = [isinstance(label, str) and label.strip().lower() in NOTHING for label in labels]
    return is_missing(labels) | np.array(texts, dtype=bool)


def named(label: object) -> str:
    """Return a label as text; a column of whole numbers is one of floats where some are missing."""
    number = float(label) if isinstance(label, float | np.floating) else math.nan
    whole = number.is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else unicodedata.normalize("NFC", str(label))


def pooled(names: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Return the rows' sites with those below `LEAST` rows as one, and a sentence where that was done."""
    found, count = np.unique(names, return_counts=True)
    small = found[count < LEAST]
    if not len(small):
        return names, []
    note = f"{len(small)} of {len(found)} sites have fewer than {LEAST} rows: pooled as one, trained on, not judged."
    return np.where(np.isin(names, small), SMALL, names), [note]
