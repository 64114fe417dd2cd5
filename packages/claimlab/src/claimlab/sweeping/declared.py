"""What an experiment declares for its sweeps: ranges, what is looked for and on which columns, and the methods.

A sweep looks at validation rows alone. An objective names the columns that it reads, and no other reaches it: those of test
data cannot be named, and rows of a test split are left out.

>>> LogUniform(1e-4, 1).words, Choice("adam", "sgd").words, Whole(16, 32).words
('log-uniform 0.0001 to 1', 'one of adam, sgd', 'whole 16 to 32')
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from claimlab.rows import Row, Rows, Scalar
from claimlab.values import written

POINTS = 5
"""How many values of a range that is no list a grid has."""


class Range(Protocol):
    """What a setting may be. Values are JSON scalars, of which a grid takes those of `grid`.

    `words` are equal exactly for equal ranges. `fields` are those of a Config that a value stands for, under the name that the
    range is declared by; `value_in` is the value that a config has, and raises a ValueError for one outside the range.
    """

    @property
    def words(self) -> str: ...  # noqa: D102
    def grid(self) -> Sequence[Scalar]: ...  # noqa: D102
    def fields(self, name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401, D102  # a scalar, or what an option holds
        return {name: value}

    def value_in(self, name: str, config: Any) -> Scalar: ...  # noqa: ANN401, D102  # any Config


@dataclass(frozen=True)
class _Interval(Range):
    low: float | int
    high: float | int
    KIND: ClassVar[str]

    def __post_init__(self) -> None:
        if not _is_finite(self.low) or not _is_finite(self.high):
            raise ValueError(f"A range should have two finite ends. Found {self.low!r} and {self.high!r}. Pass two.")
        if self.low >= self.high:
            raise ValueError(f"A range should begin below its end. Found {self.low!r} and {self.high!r}. Widen it.")

    @property
    def words(self) -> str:
        """The range in words."""
        return f"{self.KIND} {self.low:.15g} to {self.high:.15g}"

    def value_in(self, name: str, config: Any) -> Scalar:  # noqa: ANN401
        value = _only(getattr(config, name))
        if not _is_finite(value) or not self.low <= value <= self.high:
            raise ValueError(f"{name} {written(value)} lies outside {self.low:g} to {self.high:g}")
        return value


@dataclass(frozen=True)
class Uniform(_Interval):
    """Numbers between two ends, all alike.

    Raises:
        ValueError: if an end is not a finite number, or the range is empty.
    """

    KIND = "uniform"

    def grid(self) -> Sequence[Scalar]:
        """Return points at equal distances, both ends among them."""
        return [self.low + (self.high - self.low) * place / (POINTS - 1) for place in range(POINTS)]


@dataclass(frozen=True)
class LogUniform(_Interval):
    """Positive numbers between two ends, all orders of magnitude alike.

    Raises:
        ValueError: if an end is not positive and finite, or the range is empty.
    """

    KIND = "log-uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ValueError(f"A range of magnitudes should begin above 0. Found {self.low!r}. Pass 1e-4, say.")

    def grid(self) -> Sequence[Scalar]:
        """Return points at equal ratios, both ends among them."""
        ratio = self.high / self.low
        return [self.low, *(self.low * ratio ** (place / (POINTS - 1)) for place in range(1, POINTS - 1)), self.high]


@dataclass(frozen=True)
class Whole(_Interval):
    """Whole numbers between two ends, both among them.

    Raises:
        ValueError: if an end is not a whole number, or the range is empty.
    """

    KIND = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.low, int) or not isinstance(self.high, int):
            raise ValueError(f"`Whole` should have whole ends. Found {self.low!r} and {self.high!r}. Round them.")

    def grid(self) -> Sequence[Scalar]:
        """Return at most five whole numbers at nearly equal distances."""
        steps = min(POINTS, int(self.high - self.low) + 1) - 1
        return [round(self.low + (self.high - self.low) * place / steps) for place in range(steps + 1)]


@dataclass(frozen=True, init=False)
class Choice(Range):
    """One of some values.

    Args:
        values: two or more scalars, each once.

    Raises:
        ValueError: if there are fewer than two values, one is there twice, or one is not a scalar.
    """

    values: tuple[Scalar, ...]

    def __init__(self, *values: Scalar) -> None:
        object.__setattr__(self, "values", values)
        strange = [value for value in values if not isinstance(value, Scalar)]  # pyright: ignore[reportUnnecessaryIsInstance]
        if strange:
            raise ValueError(f"A choice should be among texts, numbers, bools and None. Found {strange[0]!r}. Leave it out.")
        if len(values) < 2 or len({(type(value), value) for value in values}) < len(values):
            raise ValueError(f"A choice should be among two or more, each once. Found {values!r}. Change them.")

    @property
    def words(self) -> str:
        """The range in words."""
        return f"one of {', '.join(map(written, self.values))}"

    def grid(self) -> Sequence[Scalar]:
        """Return all of them."""
        return self.values

    def value_in(self, name: str, config: Any) -> Scalar:  # noqa: ANN401, D102
        value = _only(getattr(config, name))
        if value not in self.values:
            raise ValueError(f"{name} {written(value)} is not {self.words}")
        return value


@dataclass(frozen=True)
class Options(Range):
    """One of some groups of fields that belong together, each under a name: settings that are never combined.

    Args:
        groups: by name the values of the same fields.

    Raises:
        ValueError: if there are fewer than two groups, or their fields differ.
    """

    groups: Mapping[str, Mapping[str, Any]]

    def __post_init__(self) -> None:
        if len(self.groups) < 2 or len({frozenset(group) for group in self.groups.values()}) != 1:
            found = dict(self.groups)
            raise ValueError(f"Options should be two or more groups of the same fields. Found {found!r}. Fill them.")

    @property
    def words(self) -> str:
        """The range in words."""
        return f"one of {', '.join(f'{name} ({settings_words(group)})' for name, group in self.groups.items())}"

    def grid(self) -> Sequence[Scalar]:
        """Return all of them."""
        return list(self.groups)

    def fields(self, name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the fields of the group."""
        return dict(self.groups[value])

    def value_in(self, name: str, config: Any) -> Scalar:  # noqa: ANN401, D102
        for option, group in self.groups.items():
            if all(getattr(config, field) == value for field, value in group.items()):
                return option
        raise ValueError(f"{name} is not {self.words}")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def settings_words(fields: Mapping[str, Any]) -> str:
    """Return fields and their values in words."""
    return ", ".join(f"{field} {written(value)}" for field, value in fields.items())


def _only(value: Any) -> Any:  # noqa: ANN401
    """Return the one value of a field that lists values; of another field its value."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


UNSEEN = frozenset({"test", "tests", "tested", "oracle"})
"""Words in names of columns that hold what test data say, and values of columns that name a split."""


@dataclass(frozen=True)
class Last:
    """The last number of a column, for `Objective`; None while no row has one."""

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
        value: of the rows so far, None while they cannot say: what is told for pruning while there are more to come, and counts
            at the end. The last number of the only column if None.
        maximise: whether more is better.

    Raises:
        ValueError: if there is no column, one tells of test data, or there are several and no value.
    """

    columns: tuple[str, ...]
    value: Callable[[Rows], float | None] | None = None
    maximise: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) or not self.columns:
            raise ValueError(f"An objective should name its columns as a tuple. Found {self.columns!r}. Name one.")
        for column in filter(of_test, self.columns):
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
        """Return the fields of a trial: the method's, and those that were chosen; `config` tells which fields list values."""
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
