"""Comparisons that are asked twice: of trainings at their ends, and of the same where validation stops them."""

from collections.abc import Callable

from craik.lab import Greatest, Least, Measurement, Rows

Measure = Callable[[Rows], Measurement | None]

WHY = "Early stopping is a baseline of every comparison."
"""Why conditions that asked of trainings at their ends alone have been made harder."""

LESSER = "the lesser of that at the ends and that where validation stops both,"
GREATER = "the greater of that at the ends and that where validation stops both,"

_STOPPED = "stopped_"


def where_stopped(measure: Measure) -> Measure:
    """Return a measure of trainings that validation has stopped: what rows have under `stopped_` stands in their ends' place.

    Rows that have no such columns, of records before there were any, say nothing to it.
    """

    def measured(rows: Rows) -> Measurement | None:
        found = [
            {**row, **{name.removeprefix(_STOPPED): value for name, value in row.items() if name.startswith(_STOPPED)}}
            for row in rows
            if any(name.startswith(_STOPPED) for name in row)
        ]
        return measure(Rows(found))

    return measured


def lesser(measure: Measure) -> Least:
    """Return the lesser of a measure at the ends and where validation stops, for what should be large."""
    return Least((measure, where_stopped(measure)))


def greater(measure: Measure) -> Greatest:
    """Return the greater of the two, for what should be small."""
    return Greatest((measure, where_stopped(measure)))
