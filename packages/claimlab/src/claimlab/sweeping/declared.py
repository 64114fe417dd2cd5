"""What an experiment declares for its sweeps: ranges, what is looked for and on which columns, and the methods.

A sweep looks at validation rows alone. An objective names the columns that it reads, and no other reaches it: those of test
data cannot be named, and rows of a test split are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from claimlab.rows import Row, Rows, Scalar
from claimlab.sweeping.ranges import Range

UNSEEN = frozenset({"test", "tests", "tested", "oracle"})
"""Words in names of columns that hold what test data say, and values of columns that name a split."""

Looked = Callable[[Rows], float | None]
"""From the rows so far to the value that is looked for; None while they cannot say."""


@dataclass(frozen=True)
class Last:
    """The last number of a column, for `Objective`; None while no row has one.

    Args:
        column: which.
    """

    column: str

    def __call__(self, rows: Rows) -> float | None:
        """Return the number."""
        found = [row[self.column] for row in rows if row.get(self.column) is not None]
        return float(found[-1]) if found and isinstance(found[-1], int | float) else None


@dataclass(frozen=True)
class Objective:
    """What a sweep looks for.

    Args:
        columns: all that `value` sees of a row, besides its seed.
        value: of the rows so far: what is told for pruning while there are more to come, and counts at the end. The last
            number of the only column if None.
        maximise: whether more is better.

    Raises:
        ValueError: if there is no column, one tells of test data, or there are several and no value.
    """

    columns: tuple[str, ...]
    value: Looked | None = None
    maximise: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) or not self.columns:
            raise ValueError(f"An objective should name its columns as a tuple. Found {self.columns!r}. Name one.")
        for column in self.columns:
            if of_test(column):
                raise ValueError(
                    f"An objective should read validation columns alone. Found {column!r}, of test data. Name another."
                )
        if self.value is None and len(self.columns) > 1:
            raise ValueError(f"An objective of several columns should have a value. Found {self.columns!r}. Pass `value`.")

    @property
    def words(self) -> str:
        """The objective for readers and for comparisons."""
        return f"{'highest' if self.maximise else 'lowest'} {', '.join(self.columns)}"

    def seen(self, rows: Iterable[Row]) -> Rows:
        """Return what is left of rows for an objective to see: its own columns, of rows that are no test split's."""
        shown = (row for row in rows if not any(isinstance(one, str) and one.lower() in UNSEEN for one in row.values()))
        return Rows({key: row[key] for key in ("seed", *self.columns) if key in row} for row in shown)

    def of(self, rows: Iterable[Row]) -> float | None:
        """Return the value of the rows so far; None while they cannot say, or where it is not finite."""
        look = self.value or Last(self.columns[0])
        found = look(self.seen(rows))
        return float(found) if found is not None and math.isfinite(found) else None


def of_test(column: str) -> bool:
    """Return whether a column, by its name, holds what test data say."""
    return not UNSEEN.isdisjoint(re.split(r"[^a-z0-9]+", column.lower()))


@dataclass(frozen=True)
class Single:
    """One training at settings of its own, where an experiment's `run` does more than that.

    Args:
        config: from a preset's config to one of a training, a frozen dataclass with a field `seed`.
        run: from that to the rows of its seed.
    """

    config: Callable[[Any], Any]
    run: Callable[[Any], Iterator[Row]]


@dataclass(frozen=True)
class Ranges:
    """What a sweep of an experiment may choose, and how it judges.

    Args:
        of: by name; the name of a field, whose value it is, or of `Options`, whose fields they are. A field that lists values
            gets a list of one.
        objective: what is looked for.
        methods: by name the fields that make a trial one of that method; each method has the same number of trials. What a
            method fixes is not drawn for it.
        single: what a trial trains, where it is not the experiment's own `run`.

    Raises:
        ValueError: if there is no range, or no method.
    """

    of: Mapping[str, Range]
    objective: Objective
    methods: Mapping[str, Mapping[str, Scalar | tuple[Scalar, ...]]] = field(
        default_factory=lambda: {"all": dict[str, Scalar | tuple[Scalar, ...]]()}
    )
    single: Single | None = None

    def __post_init__(self) -> None:
        if not self.of or not self.methods:
            raise ValueError(f"A sweep should have ranges and methods. Found {dict(self.of)}, {dict(self.methods)}. Add one.")

    def drawn(self, method: str) -> dict[str, Range]:
        """Return the ranges that are drawn from for a method."""
        return {name: one for name, one in self.of.items() if name not in self.methods[method]}

    def fields(self, method: str, chosen: Mapping[str, Scalar], config: Any) -> dict[str, Any]:  # noqa: ANN401  # any Config
        """Return the fields of a trial: the method's, and those that were chosen.

        Args:
            method: which.
            chosen: a value for each of its ranges.
            config: the trial's before; tells which fields list values.
        """
        found: dict[str, Any] = dict(self.methods[method])
        for name, one in self.drawn(method).items():
            for key, value in one.fields(name, chosen[name]).items():
                listed = isinstance(getattr(config, key), tuple) and not isinstance(value, tuple)
                found[key] = (value,) if listed else value
        return found

    def set_fields(self) -> set[str]:
        """Return all fields that a sweep sets itself."""
        drawn = {key for name, one in self.of.items() for key in one.fields(name, one.grid()[0])}
        return drawn | {key for fixed in self.methods.values() for key in fixed}
