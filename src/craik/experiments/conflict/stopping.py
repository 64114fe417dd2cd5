"""Claims that ask each comparison twice: of methods at their ends, and of methods where validation stops them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from craik.lab import Condition, Least, Measurement, Paired, Rows

Measure = Callable[[Rows], Measurement | None]

WHY = "Early stopping is a baseline of every comparison."
"""A condition took the place of one that asked of the ends alone."""


@dataclass(frozen=True)
class Known:
    """A measure of the rows that have a column; None where none has, as in a record before anything was stopped.

    Args:
        key: the column.
        measure: of these rows.
    """

    key: str
    measure: Measure

    def __call__(self, rows: Rows) -> Measurement | None:
        """What the measure gives of these rows."""
        return self.measure(rows.where(lambda row: self.key in row))


def lesser(ends: Paired) -> Least:
    """Return a measure: the lesser of what one method is ahead of another at the ends, and where validation stops both."""
    key = f"stopped_{ends.key}"
    return Least((ends, Known(key, replace(ends, key=key))))


def of_both(which: Literal["lesser", "greater"], of: str) -> str:
    """Say what a condition is asked of, where it is the one of two numbers that speaks less for the claim.

    Args:
        which: of the two.
        of: what is measured, with a comma at its end.
    """
    return f"{of} the {which} of that at the ends and that where validation stops,"


def twice(condition: Callable[..., Condition], bound: float, of: str, ends: Measure) -> Condition:
    """Return a condition that asks both, of what should be large, beside the one that asked of the ends alone.

    Args:
        condition: such as `low_above`.
        bound: its own.
        of: what is measured, with a comma at its end.
        ends: the measure of the ends.
    """
    return condition(bound, of=of_both("lesser", of)).instead_of(condition(bound, of=of), WHY, ends)
