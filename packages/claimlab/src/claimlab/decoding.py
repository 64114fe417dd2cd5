"""JSON read as what dataclasses say: a value of another kind is named by its place instead of failing somewhere later.

What a field may hold stands in its annotation: its type, then limits in the words of `annotated_types` (see `claimlab.limits`)
or a `Form` of texts. This is the one reader of run.json, claims.json and .status.json.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Interval, MaxLen

from claimlab.limits import rules


@dataclasses.dataclass(frozen=True)
class Form:
    """A form of texts: a pattern for the whole text, and what such a text is called."""

    pattern: str
    words: str


Commit = Annotated[str, Form("[0-9a-f]{40}", "a commit of 40 hex digits")]
"""A full commit: it reaches git's command line."""

Commits = Annotated[str, Form("[0-9a-f]{40}(, [0-9a-f]{40})*", "commits of 40 hex digits")]
"""Commits, separated by commas."""

Digest = Annotated[str, Form("[0-9a-f]{64}", "a sha256 of 64 hex digits")]
"""A digest: its first digits name a folder."""

Package = Annotated[str, Form(r"[^\W\d]\w*(\.[^\W\d]\w*)*", "a package's name")]
"""A package as Python imports it."""

PictureFile = Annotated[str, Form(r"figures/[^/\\\x00-\x1f]+\.(svg|gif)", "a picture in figures/")]
"""A picture's file relative to its run's folder."""

SeedNumber = Annotated[int, Interval(ge=0, le=2**32 - 1)]
"""torch's generators of the CPU keep 32 bits of a seed."""

Seeds = Annotated[tuple[SeedNumber, ...], MaxLen(10_000)]
"""Seeds of a run."""

Counted = Annotated[int, Ge(0)]
"""A number of things."""

Setting = str | int | float | bool | None
"""One value of a config; a field holds one of them, or a list."""


def parse_object(text: str) -> dict[str, Any]:
    """Return the object that a JSON text holds."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__} instead of an object")
    return content


def _refuse_constant(constant: str) -> NoReturn:
    """Raise an error for NaN and infinities, which Python's reader would let through."""
    raise ValueError(f"{constant} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def decode(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401, PLR0911  # whatever JSON holds; one return a kind of type
    """Read a JSON value as a type: a dataclass, `tuple[X, ...]`, `tuple[X, Y]`, `dict[str, X]`, `Literal`, a union or a scalar.

    >>> decode(tuple[int, ...], [1, 2], "seeds")
    (1, 2)
    >>> decode(tuple[int, ...], [1, "2"], "seeds")
    Traceback (most recent call last):
    ValueError: seeds[1] should be int, but is '2'
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        return _limited(decode(arguments[0], value, where), arguments[1:], where)
    if dataclasses.is_dataclass(hint):
        return _decode_dataclass(hint, value, where)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, value, where)
    if origin is Literal:
        return value if value in arguments and not isinstance(value, bool) else _refuse(hint, value, where)
    if origin is tuple:
        return _decode_tuple(arguments, value, where, hint)
    if origin is dict:
        found = value if isinstance(value, dict) else _refuse(hint, value, where)
        return {key: decode(arguments[1], one, f"{where}.{key}") for key, one in found.items()}
    return value if _fits(hint, value) else _refuse(hint, value, where)


def _limited(value: Any, limits: Iterable[object], where: str) -> Any:  # noqa: ANN401
    for limit in limits:
        if isinstance(limit, Form) and not re.fullmatch(limit.pattern, value):
            _refuse(limit.words, value, where)
        if isinstance(limit, MaxLen) and len(value) > limit.max_length:
            raise ValueError(f"{where} should have at most {limit.max_length} members, but has {len(value)}")
        for words, allows in rules(limit):
            if not allows(value):
                _refuse(words, value, where)
    return value


def _decode_dataclass(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    content = value if isinstance(value, dict) else _refuse(hint, value, where)
    hints = _hints(hint)
    none = dataclasses.MISSING
    needed = [one.name for one in dataclasses.fields(hint) if one.default is none and one.default_factory is none]
    missing = [name for name in needed if name not in content]
    strange = [name for name in content if name not in hints]
    if missing or strange:
        raise ValueError(f"{where} " + (f"lacks {missing[0]!r}" if missing else f"has {strange[0]!r}, which is unknown"))
    return hint(**{name: decode(hints[name], one, f"{where}.{name}".lstrip(".")) for name, one in content.items()})


@cache
def _hints(hint: type[Any]) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)


def _decode_union(members: tuple[Any, ...], value: Any, where: str) -> Any:  # noqa: ANN401
    if value is None and type(None) in members:
        return None
    for member in members:
        try:
            return decode(member, value, where)
        except ValueError:
            if len(members) == 2 and type(None) in members and member is not type(None):
                raise  # what may be missing is named by its own sentence
    return _refuse(" or ".join(_name(member) for member in members), value, where)


def _decode_tuple(arguments: tuple[Any, ...], value: Any, where: str, hint: object) -> Any:  # noqa: ANN401
    if not isinstance(value, list) or (arguments[-1] is not ... and len(value) != len(arguments)):
        _refuse(hint, value, where)
    kinds = [arguments[0]] * len(value) if arguments[-1] is ... else arguments
    return tuple(decode(kind, one, f"{where}[{place}]") for place, (kind, one) in enumerate(zip(kinds, value, strict=True)))


def _fits(hint: object, value: object) -> bool:
    if hint is int or hint is float:
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64
        return whole or (hint is float and isinstance(value, float) and math.isfinite(value))
    return value is None if hint is type(None) else isinstance(value, hint) if isinstance(hint, type) else False


def _refuse(hint: object, value: object, where: str) -> NoReturn:
    found = repr(value)
    shown = found if len(found) <= 40 else f"{found[:37]}..."
    raise ValueError(f"{where or 'it'} should be {hint if isinstance(hint, str) else _name(hint)}, but is {shown}")


def _name(hint: object) -> str:
    if dataclasses.is_dataclass(hint) or get_origin(hint) is dict:
        return "an object"
    return "a list" if get_origin(hint) is tuple else "none" if hint is type(None) else getattr(hint, "__name__", str(hint))
