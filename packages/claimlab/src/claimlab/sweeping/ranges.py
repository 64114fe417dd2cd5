"""Ranges: what a setting may be in a sweep, declared beside the Config whose fields they are of.

>>> LogUniform(1e-4, 1).words, Choice("adam", "sgd").words, Whole(16, 32).words
('log-uniform 0.0001 to 1', 'one of adam, sgd', 'whole 16 to 32')
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from claimlab.rows import Scalar
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

    def __post_init__(self) -> None:
        if not _is_finite(self.low) or not _is_finite(self.high):
            raise ValueError(f"A range should have two finite ends. Found {self.low!r} and {self.high!r}. Pass two.")
        if self.low >= self.high:
            raise ValueError(f"A range should begin below its end. Found {self.low!r} and {self.high!r}. Widen it.")

    def value_in(self, name: str, config: Any) -> Scalar:  # noqa: ANN401
        value = _only(getattr(config, name))
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise ValueError(f"{name} {written(value)} lies outside {self.low:g} to {self.high:g}")
        return value


@dataclass(frozen=True)
class Uniform(_Interval):
    """Numbers between two ends, all alike.

    Raises:
        ValueError: if an end is not a finite number, or the range is empty.
    """

    @property
    def words(self) -> str:
        """The range in words."""
        return f"uniform {self.low:g} to {self.high:g}"

    def grid(self) -> Sequence[Scalar]:
        """Return points at equal distances, both ends among them."""
        return [self.low + (self.high - self.low) * place / (POINTS - 1) for place in range(POINTS)]


@dataclass(frozen=True)
class LogUniform(_Interval):
    """Positive numbers between two ends, all orders of magnitude alike.

    Raises:
        ValueError: if an end is not positive and finite, or the range is empty.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ValueError(f"A range of magnitudes should begin above 0. Found {self.low!r}. Pass 1e-4, say.")

    @property
    def words(self) -> str:
        """The range in words."""
        return f"log-uniform {self.low:g} to {self.high:g}"

    def grid(self) -> Sequence[Scalar]:
        """Return points at equal ratios, both ends among them."""
        ratio = self.high / self.low
        inner = [self.low * ratio ** (place / (POINTS - 1)) for place in range(1, POINTS - 1)]
        return [self.low, *inner, self.high]


@dataclass(frozen=True)
class Whole(_Interval):
    """Whole numbers between two ends, both among them.

    Raises:
        ValueError: if an end is not a whole number, or the range is empty.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.low, int) or not isinstance(self.high, int):
            raise ValueError(f"`Whole` should have whole ends. Found {self.low!r} and {self.high!r}. Round them.")

    @property
    def words(self) -> str:
        """The range in words."""
        return f"whole {self.low} to {self.high}"

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
        strange = [value for value in values if not _is_scalar(value)]
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

    def value_in(self, name: str, config: Any) -> Scalar:  # noqa: ANN401
        """Return the value that a config has.

        Raises:
            ValueError: if it is not one of the values.
        """
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
            raise ValueError(
                f"Options should be two or more groups of the same fields. Found {dict(self.groups)!r}. Fill them."
            )

    @property
    def words(self) -> str:
        """The range in words."""
        groups = (f"{name} ({_listed(group)})" for name, group in self.groups.items())
        return f"one of {', '.join(groups)}"

    def grid(self) -> Sequence[Scalar]:
        """Return all of them."""
        return list(self.groups)

    def fields(self, name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the fields of the group."""
        return dict(self.groups[value])

    def value_in(self, name: str, config: Any) -> Scalar:  # noqa: ANN401
        """Return the name of the group that a config has.

        Raises:
            ValueError: if it has none of them.
        """
        for option, group in self.groups.items():
            if all(getattr(config, field) == value for field, value in group.items()):
                return option
        raise ValueError(f"{name} is not {self.words}")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _listed(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{field} {written(value)}" for field, value in group.items())


def _only(value: Any) -> Any:  # noqa: ANN401
    """Return the one value of a field that lists values; of another field its value."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value
