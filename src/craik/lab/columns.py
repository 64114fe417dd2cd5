"""Reading recorded rows: what claims and figures take from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from craik.lab.claims import Measurement, Row, bootstrap


def number(row: Row, key: str) -> float:
    """Return a numeric entry of a row.

    Raises:
        TypeError: the entry is no number.
    """
    value = row[key]
    if not isinstance(value, int | float):
        raise TypeError(f"{key!r} should be a number in a recorded row. Found {value!r}.")
    return float(value)


def numbers(rows: Sequence[Row], key: str) -> list[float]:
    """Return a numeric column."""
    return [number(row, key) for row in rows]


def where(rows: Sequence[Row], **values: str | int | float | bool | None) -> list[Row]:
    """Return the rows that hold all of these values.

    >>> where([{"method": "mean", "step": 1}, {"method": "and-mask", "step": 1}], method="mean")
    [{'method': 'mean', 'step': 1}]
    """
    return [row for row in rows if all(key in row and row[key] == value for key, value in values.items())]


def by_seed(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Return the rows of each seed, seeds ascending."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(int(number(row, "seed")), []).append(row)
    return dict(sorted(groups.items()))


def curves(rows: Sequence[Row], x: str, y: str) -> tuple[list[float], list[list[float]]]:
    """Return the union of x positions and one curve a seed, NaN where a seed has no value there."""
    positions = sorted(set(numbers(rows, x)))
    found = [{number(row, x): number(row, y) for row in group} for group in by_seed(rows).values()]
    return positions, [[curve.get(position, float("nan")) for position in positions] for curve in found]


@dataclass(frozen=True)
class OverSeeds:
    """A measure for `Claim`: a statistic over seeds of one number in the rows that hold some values.

    Args:
        key: the number.
        values: what the rows must hold, as (key, value) pairs; one row a seed.
        statistic: of the seeds' numbers; called with ``axis=-1``.
    """

    key: str
    values: tuple[tuple[str, str | int | float | bool], ...] = ()
    statistic: Callable[..., object] = np.median

    def __call__(self, rows: Sequence[Row]) -> Measurement | None:
        """Return the statistic with its bootstrap interval, or None where no row holds the values."""
        found = numbers(where(rows, **dict(self.values)), self.key)
        return bootstrap(found, self.statistic) if found else None
