"""Cells of a table: which are missing, what a column holds, and those that no table may hold."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

HUGE = 1e150
"""Size of a number above which it is refused: squares of larger ones cannot be added up in double precision."""

MOST = 50
"""Categories of a column of texts."""

MOSTLY, CODES = 0.9, 20
"""Share of numbers from which a column of texts is taken for one of numbers with cells to mend; different whole numbers up to
which they may be codes instead, as a target's are classes."""

NOTHING = frozenset({"", "na", "n/a", "nan", "nat", "<na>", "null", "none"})
"""Texts, in small letters, that say that an input or a site is missing, in files and in frames; of targets only "" does."""

_PAIR = re.compile(r"\d+\s*/\s*\d+")
"""Two numbers in a cell, such as 130/85."""

_UNIT = re.compile(r"[+-]?\d*[.,]?\d+\s*([^\s\d.,]\D{0,9})")
"""A number with something behind it, such as 5 mg."""

CODED = "leave them empty; if the numbers are codes, write each with a letter, as c1"
"""Way out where an input's numbers have some texts among them."""


class Doubt(str):
    """A note on a table that a terminal shows, too, as what is in doubt should be looked at."""


def kind(values: NDArray[Any]) -> str:
    """Return "numbers", "texts", "dates" or "others"."""
    if values.dtype.kind in "biuf":
        return "numbers"
    if values.dtype.kind in "mM":
        return "dates"
    present = values[~is_missing(values)]
    if values.dtype.kind == "U" or all(isinstance(value, str) for value in present):
        return "texts"
    if all(isinstance(value, int | float | np.number | np.bool_ | Decimal) for value in present):
        return "numbers"
    if any(hasattr(value, "isoformat") for value in present):
        return "dates"
    return "texts" if all(isinstance(value, str | int | float | bool | np.number) for value in present) else "others"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names of a list, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def plain(value: object) -> object:
    """Return a value as sentences show it: NumPy's numbers and texts as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def as_numbers(values: NDArray[Any]) -> Numbers:
    """Return (n,) numbers in double precision, NaN where one is missing."""
    absent = is_missing(values)
    return np.where(absent, np.nan, np.where(absent, 0, values)).astype(np.float64)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True where a value is None, NaN, NaT or pandas' NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([_is_nothing(value) for value in values], dtype=bool)


def numbers_rows(values: NDArray[Any]) -> bool:
    """Return whether a column is of whole numbers of which none comes twice."""
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.round(values)).all()))
    return whole and len(np.unique(values)) == len(values)


def _is_nothing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas'
        return True
    return isinstance(value, float | np.floating | Decimal | np.datetime64 | np.timedelta64) and bool(value != value)  # noqa: PLR0124


def check_column(name: str, values: NDArray[Any]) -> None:
    """Reject cells that no table may hold."""
    what = kind(values)
    if what == "numbers":
        check_finite(name, values)
    elif what == "texts":
        check_strays(name, values)


def check_finite(name: str, values: NDArray[Any]) -> None:
    """Reject numbers that are infinite, or too large for their squares to be added up; missing ones pass."""
    if values.dtype.kind not in "fO":
        return
    numbers = values if values.dtype.kind == "f" else as_numbers(values)
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


def check_strays(name: str, values: NDArray[Any], way_out: str = CODED) -> None:
    """Reject numbers with some texts among them, or a unit behind; codes as 1, 2, 3 and X are categories (`_are_codes`)."""
    counts = counted(values)
    _check_pairs(name, counts)
    _check_units(name, counts)
    numbers = {text for text in counts if is_number(text)}
    comma = {text for text in counts if text not in numbers and is_number(text.replace(",", ".", 1))}
    least = MOSTLY if len(counts) <= MOST else 0.5
    meant = sum(counts[text] for text in numbers | comma)
    if len(numbers) == len(counts) or meant < least * counts.total() or _are_codes(numbers, set(counts) - numbers):
        return
    point = ", with a point for the decimal comma," if comma else ""
    if any(text[:1] in "<>" for text in set(counts) - numbers):
        point += ", with the limit itself or half of it for one such as <0.6,"
    raise ValueError(
        f"A column should hold numbers or categories. Found numbers in {sum(counts[text] for text in numbers)} of "
        f"{counts.total()} filled cells of {name!r}, and texts in the others, {strays(values)}. Mend these "
        f"cells{point} or {way_out}."
    )


def _check_pairs(name: str, counts: Counter[str]) -> None:
    pairs = [text for text in counts if _PAIR.fullmatch(text)]
    if len(pairs) > 1 and sum(counts[text] for text in pairs) >= MOSTLY * counts.total():
        raise ValueError(
            f"A cell should hold one number or category. Found two numbers in {name!r}, such as {pairs[0]!r}. Make a column of "
            "each, or leave the column out."
        )


def _check_units(name: str, counts: Counter[str]) -> None:
    found = {text: match[1].strip() for text in counts if (match := _UNIT.fullmatch(text))}
    if len(found) <= CODES:
        return
    unit, different = Counter(found.values()).most_common(1)[0]
    if different > CODES and sum(counts[text] for text in found if found[text] == unit) >= MOSTLY * counts.total():
        example = next(text for text in found if found[text] == unit)
        raise ValueError(
            f"A column should hold numbers or categories. Found numbers with {unit!r} behind in {name!r}, such as {example!r}. "
            "Write the numbers alone, all in one unit."
        )


def counted(values: NDArray[Any]) -> Counter[str]:
    """Return how often each filled cell is there, as text."""
    return Counter(str(value) for value in values[~is_missing(values)])


def is_number(text: str) -> bool:
    """Return whether a text is a number with a point; Python's own underscores between digits are none."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _are_codes(numbers: set[str], others: set[str]) -> bool:
    """Of a column of both: a few different whole numbers, and words beside them."""
    few = len(numbers) <= CODES and all(float(text).is_integer() for text in numbers)
    return few and all(text.replace(" ", "").isalpha() for text in others)


def strays(values: NDArray[Any], most: int = 3) -> str:
    """The first different cells that are no numbers, and their rows."""
    first: dict[str, int] = {}
    for row in np.flatnonzero(~is_missing(values)).tolist():
        text = str(values[row])
        if not is_number(text):
            first.setdefault(text, row)
        if len(first) == most:
            break
    named = [f"{text[:40]!r} in data row {row + 1}" for text, row in first.items()]
    return f"such as {', '.join(named)}" if named else "which are numbers written as texts"
