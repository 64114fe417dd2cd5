"""Rows: what an experiment records, and how claims and figures read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

Scalar = str | int | float | bool | None
"""What a row may hold."""

Row = dict[str, Scalar]
"""One recorded observation: a flat dict of JSON scalars."""


def number(row: Row, key: str) -> float:
    """Return a numeric entry of a row.

    Raises:
        TypeError: if the entry is not a number.
    """
    value = row[key]
    if not isinstance(value, int | float):
        raise TypeError(f"{key!r} should be a number in a recorded row. Found {value!r}.")
    return float(value)


class Rows(Sequence[Row]):
    """Recorded rows in the order they were made in, seeds ascending.

    >>> rows = Rows([{"seed": 0, "method": "mean", "accuracy": 0.5}, {"seed": 0, "method": "and-mask", "accuracy": 1}])
    >>> rows.where(method="and-mask")["accuracy"]
    [1.0]
    >>> [seed for seed in rows.by("seed")]
    [0]
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = rows._rows if isinstance(rows, Rows) else list(rows)

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Rows: ...
    @overload
    def __getitem__(self, key: str) -> list[float]: ...
    def __getitem__(self, key: str | int | slice) -> list[float] | Row | Rows:
        """Return a numeric column by its name, a row by its place, or some of the rows by a slice.

        Raises:
            TypeError: if the column holds something other than numbers. `values` reads it.
        """
        if isinstance(key, str):
            return [number(row, key) for row in self._rows]
        return Rows(self._rows[key]) if isinstance(key, slice) else self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == list(other)  # pyright: ignore[reportUnknownArgumentType] # any items

    __hash__ = None  # pyright: ignore[reportAssignmentType] # rows are mutable dicts

    def __repr__(self) -> str:
        return f"<{len(self)} rows: {', '.join(dict.fromkeys(key for row in self._rows for key in row))}>"

    def where(self, test: Callable[[Row], bool] | None = None, /, **values: Scalar) -> Rows:
        """Return the rows that pass a test and hold all of these values."""
        found = self._rows if test is None else [row for row in self._rows if test(row)]
        for key, value in values.items():  # a pass for each: several times as fast as all values of a row at once
            found = [row for row in found if key in row and row[key] == value]
        return Rows(found)

    def by(self, key: str) -> dict[Scalar, Rows]:
        """Return the rows of each value of a column: numbers ascending, all else in the order of its first row."""
        groups: dict[Scalar, list[Row]] = {}
        for row in self._rows:
            groups.setdefault(row[key], []).append(row)
        numeric = all(isinstance(value, int | float) for value in groups)
        order = sorted(groups, key=lambda value: float(value or 0)) if numeric else groups  # pyright: ignore[reportArgumentType] # numbers
        return {value: Rows(groups[value]) for value in order}

    def values(self, key: str) -> list[Scalar]:
        """Return a column of anything."""
        return [row[key] for row in self._rows]

    def curves(self, x: str, y: str) -> tuple[list[float], list[list[float]]]:
        """Return the union of x positions and one curve a seed, NaN where a seed has no value there."""
        positions = sorted(set(self[x]))
        found = [dict(zip(group[x], group[y], strict=True)) for group in self.by("seed").values()]
        return positions, [[curve.get(position, float("nan")) for position in positions] for curve in found]
