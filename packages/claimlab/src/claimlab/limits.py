"""Limits of settings, stated at the field: what a Config refuses before any work.

A Config writes them into its annotations, in the words of `annotated_types`, and inherits from `Limited`. One with checks of
its own calls `check_limits(self)` in its `__post_init__`. Of a field that is a tuple every element is checked; a field that is
None is not. `MinLen` counts elements.
A text among the limits is the reason, where the field's sentence does not give it.

>>> from dataclasses import dataclass
>>> from typing import Annotated
>>> from annotated_types import Ge
>>> @dataclass(frozen=True)
... class Config(Limited):
...     environments: Annotated[int, Ge(2), "one has nothing to agree with"] = 16
>>> Config(environments=1)
Traceback (most recent call last):
ValueError: environments should be at least 2: one has nothing to agree with. Found 1.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen

from claimlab.values import kind

Positive = Annotated[float, Gt(0)]
"""A number above 0."""

Share = Annotated[float, Interval(ge=0, le=1)]
"""A number between 0 and 1."""


@dataclass(frozen=True)
class Limited:
    """A frozen dataclass whose values are checked when it is made; see `check_limits`."""

    def __post_init__(self) -> None:
        check_limits(self)


def check_limits(config: object) -> None:
    """Raise an error for values of a dataclass outside the limits that their fields state, and values of another type.

    Raises:
        ValueError: if a value is outside its field's limits, infinite or not a number.
        TypeError: if a value is not of its field's type.
    """
    for name, hint in _hints(type(config)).items():
        _check(name, getattr(config, name), hint, ())


@cache
def _hints(config: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(config, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(config)}


def _check(name: str, value: object, hint: object, limits: tuple[object, ...]) -> None:
    if get_origin(hint) is Annotated:
        base, *extra = get_args(hint)
        return _check(name, value, base, (*limits, *extra))
    if get_origin(hint) in (Union, types.UnionType):
        return _check_union(name, value, hint, limits)
    if not _fits(value, hint):
        raise TypeError(f"{name} should be {kind(hint)}. Found {value!r}.")
    _check_limits(name, value, limits)
    for element in value if isinstance(value, tuple) else ():  # pyright: ignore[reportUnknownVariableType] # any items
        _check(name, element, get_args(hint)[0], tuple(limit for limit in limits if not isinstance(limit, MinLen)))
    return None


def _check_union(name: str, value: object, hint: object, limits: tuple[object, ...]) -> None:
    if value is None and type(None) in get_args(hint):
        return
    members = [member for member in get_args(hint) if member is not type(None)]
    fitting = [member for member in members if _fits(value, get_args(member)[0] if get_origin(member) is Annotated else member)]
    if not fitting:
        raise TypeError(f"{name} should be {kind(_bare(hint))}. Found {value!r}.")
    _check(name, value, fitting[0], limits)


def _bare(hint: object) -> object:
    members = tuple(get_args(member)[0] if get_origin(member) is Annotated else member for member in get_args(hint))
    return Union[members]  # noqa: UP007  # built from a tuple


def _fits(value: object, hint: object) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _check_limits(name: str, value: object, limits: Iterable[object]) -> None:
    if isinstance(value, tuple):
        if any(isinstance(limit, MinLen) for limit in limits) and not value:
            raise ValueError(f"{name} should have at least one value. Found none.")
        return
    why = next((f": {limit}" for limit in limits if isinstance(limit, str)), "")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} should be a finite number{why}. Found {value!r}.")
    for limit in limits:
        for rule, allows in rules(limit):
            if not allows(value):
                raise ValueError(f"{name} should be {rule}{why}. Found {value!r}.")


def rules(limit: object) -> Iterable[tuple[str, Callable[[Any], bool]]]:
    """Return a limit in words, and as a test."""
    match limit:
        case Interval(gt=None, ge=low, lt=None, le=high) if low is not None and high is not None:
            yield f"between {low} and {high}", lambda value: low <= value <= high  # pyright: ignore[reportOperatorIssue] # comparable
        case Interval():  # its bounds one by one
            for single in limit:
                yield from rules(single)
        case Gt(gt):
            yield ("positive" if gt == 0 else f"above {gt}"), lambda value: value > gt
        case Ge(ge):
            yield f"at least {ge}", lambda value: value >= ge
        case Lt(lt):
            yield f"below {lt}", lambda value: value < lt
        case Le(le):
            yield f"at most {le}", lambda value: value <= le
        case _:
            return
