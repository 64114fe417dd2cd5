"""Measures of rows that have a column, for columns that records made before them lack."""

from collections.abc import Callable
from dataclasses import dataclass

from craik.lab import Measurement, Rows


@dataclass(frozen=True)
class Having:
    """A measure for `Claim`: another one, of the rows that have a number in a column.

    Args:
        column: which the other one reads.
        measure: the other one, which says None of no rows.
    """

    column: str
    measure: Callable[[Rows], Measurement | None]

    def __call__(self, rows: Rows) -> Measurement | None:
        """What the other one says of these rows."""
        return self.measure(rows.where(lambda row: row.get(self.column) is not None))
