"""Texts of a file's cells to numbers, dates and labels."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in import NOTHING, listed

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$")
_WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))\.0+")
MARKS = {",": "comma", ";": "semicolon", "\t": "tab"}
"""What parts the cells of a file's lines."""
_NUMBER = re.compile(r"[+-]?(?=[.,]?\d)\d*([.,]\d*)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}((\.\d{3})+(,\d*)?|(,\d{3})+(\.\d*)?)")
_DAY = len("2026-01-31")


class Decimals(NamedTuple):
    """Columns with points for decimals, those in which commas became points, and why others can be read two ways."""

    cells: dict[str, list[str]]
    commas: list[str]
    unclear: dict[str, str]


def with_points(cells: Mapping[str, list[str]], mark: str, texts: Collection[str] = ()) -> Decimals:
    """Return columns with points for decimal commas.

    Where commas part the cells of a line one inside a cell is no decimal mark: this is for semicolons and tabs. A number such
    as 1,234 has a decimal comma where another column has commas that can be nothing else, and between semicolons where no
    column has decimal points; one such as 1.234 has a decimal point where no column has decimal commas. Columns of texts stay
    as they are.
    """
    if mark == ",":
        return Decimals({**cells}, [], {})
    written = {name: "" if name in texts else _written(some) for name, some in cells.items()}
    kinds = set(written.values())
    commas = "comma" in kinds or (mark == ";" and "point" not in kinds)
    changed = [name for name, kind in written.items() if kind == "comma" or (kind == "comma or thousands" and commas)]
    doubtful = ["both", *["comma or thousands"] * (not commas), *["point or thousands"] * bool(changed or "both" in kinds)]
    unclear = {name: _unclear(name, cells[name]) for name, kind in written.items() if kind in doubtful}
    found = {name: [cell.replace(",", ".") for cell in some] if name in changed else some for name, some in cells.items()}
    return Decimals(found, changed, unclear)


def _written(cells: Sequence[str]) -> str:
    """How a column writes its decimals; nothing where it has none, or is no column of numbers."""
    marked = [cell for cell in cells if "," in cell or "." in cell]
    if not marked or not all(
        _NUMBER.fullmatch(one) or _THOUSANDS.fullmatch(one) for one in cells if one.lower() not in NOTHING
    ):
        return ""
    signs = {sign for cell in marked for sign in ".," if sign in cell}
    if len(signs) > 1 or any(cell.count(sign) > 1 for cell in marked for sign in signs):
        return "both"
    word = "comma" if "," in signs else "point"
    return f"{word} or thousands" if all(_THOUSANDS.fullmatch(cell) for cell in marked) else word


def _unclear(name: str, cells: Sequence[str]) -> str:
    commas, points = ([cell for cell in cells if sign in cell] for sign in ",.")
    found = " and ".join(repr(one) for one in dict.fromkeys([*points[:1], *commas[:1]]))
    return (
        f"A file's numbers should have one mark, before their decimals, and none between thousands. Found {found} in column "
        f"{name!r}. Write them without marks between thousands, or leave the column out."
    )


def decimals_noted(names: Sequence[str], mark: str) -> list[str]:
    """Return a sentence on the columns whose commas were read as decimal marks, if there are any."""
    if not names:
        return []
    return [f"The file's cells are parted by {MARKS[mark]}s: commas are read as decimal marks in {listed(names, 3)}."]


def values_of(cells: Sequence[str], text: bool = False) -> NDArray[Any]:
    """Return a column's cells as numbers or dates where all are, else as texts; None or NaN where there is nothing."""
    present = [cell for cell in cells if cell.lower() not in NOTHING]
    if not text and present:
        found = _dates(cells, present) if all(_DATE.match(cell) for cell in present) else _numbers(cells, present)
        if found is not None:
            return found
    if not text and not present:
        return np.full(len(cells), np.nan)
    return np.array([None if cell.lower() in NOTHING else cell for cell in cells], dtype=object)


def _dates(cells: Sequence[str], present: Sequence[str]) -> NDArray[Any] | None:
    """Days, or moments where one has a time of day, those that say their zone in UTC; None where one is none."""
    try:
        moments = [datetime.fromisoformat(cell) for cell in present]
    except ValueError:
        return None
    zoned = {moment.tzinfo is not None for moment in moments}
    if len(zoned) > 1:
        return None
    each = iter(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment for moment in moments)
    found = np.array([None if cell.lower() in NOTHING else next(each) for cell in cells], dtype="datetime64[us]")
    return found.astype("datetime64[D]") if all(len(cell) == _DAY for cell in present) else found


def _numbers(cells: Sequence[str], present: Sequence[str]) -> NDArray[Any] | None:
    """None where one is no number; Python's own underscores between digits are none."""
    if any("_" in cell for cell in present):
        return None
    try:
        numbers = [float("nan") if cell.lower() in NOTHING else float(cell) for cell in cells]
    except ValueError:
        return None
    whole = len(present) == len(cells) and all(number.is_integer() and abs(number) < 2**53 for number in numbers)
    return np.array(numbers).astype(np.int64) if whole and "." not in "".join(cells) else np.array(numbers)


def texts_of(cells: Sequence[str]) -> NDArray[Any]:
    """Return cells as they stand; None where one is empty."""
    return np.array([cell or None for cell in cells], dtype=object)


def labels_of(cells: Sequence[str]) -> NDArray[Any]:
    """Return the cells of a column that says whose a row is: texts as they stand, as 01 and 1 are two; None where one is empty.

    Dates are days, and 1.0 is 1: programs write whole numbers so where some cell of the column is empty.
    """
    values = values_of(cells)
    if values.dtype.kind == "M":
        return values.astype("datetime64[D]")
    whole = [_WHOLE.fullmatch(cell) for cell in cells]
    return np.array([match[1] if match else cell or None for cell, match in zip(cells, whole, strict=True)], dtype=object)


def target_of(cells: Sequence[str]) -> NDArray[Any]:
    """Return a target's cells as `values_of`, but of texts only an empty one is missing: a class may be called "none"."""
    values = values_of(cells)
    return values if values.dtype.kind != "O" else texts_of(cells)
