"""Values as words of the command line: read by type, written back, and their types in plain language."""

from __future__ import annotations

import argparse
import csv
import math
import types
from collections.abc import Callable
from typing import Annotated, Literal, Union, get_args, get_origin


def parse(hint: object, text: str) -> object:
    """Read a text as a value of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _choice(arguments, text)
    if origin in (Union, types.UnionType):
        return _optional(arguments, text)
    if origin is tuple and arguments[1:] == (...,):
        return tuple(parse(arguments[0], part.strip()) for part in _parts(text))
    if hint not in _PARSERS:
        raise NotImplementedError
    return _PARSERS[hint](text)


def whole_number(text: str) -> int:
    """Read an option's whole number for argparse."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"should be a whole number. Found {text!r}") from None


def finite_number(text: str) -> float:
    """Read an option's finite number for argparse."""
    try:
        return _finite(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"should be a finite number. Found {text!r}") from None


def _choice(choices: tuple[object, ...], text: str) -> object:
    by_text = {str(choice): choice for choice in choices}
    if text not in by_text:
        raise ValueError(text)
    return by_text[text]


def _parts(text: str) -> list[str]:
    """Return the parts of a list; an empty text is an empty one, an empty part among others is a slip; quotes hold a comma."""
    if not text.strip():
        return []
    try:
        parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except csv.Error as error:
        raise ValueError(text) from error
    if not all(parts):
        raise ValueError(text)
    return parts


def _optional(arguments: tuple[object, ...], text: str) -> object:
    if type(None) in arguments and text.lower() == "none":
        return None
    members = [member for member in arguments if member is not type(None)]
    for member in members[:-1]:
        try:
            return parse(member, text)
        except ValueError:
            continue
    return parse(members[-1], text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _truth(text: str) -> bool:
    truths = {"true": True, "false": False}
    if text.lower() not in truths:
        raise ValueError(text)
    return truths[text.lower()]


_PARSERS: dict[object, Callable[[str], object]] = {int: int, float: _finite, str: str, bool: _truth}

_KINDS: dict[object, str] = {
    int: "a whole number",
    float: "a finite number",
    str: "text",
    bool: "true or false",
    type(None): "none",
}


def kind(hint: object) -> str:
    """Return a type in words.

    >>> kind(int | None)
    'a whole number or none'
    >>> kind(Literal["mean", "and-mask"])
    'one of mean, and-mask'
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind(arguments[0])
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin in (Union, types.UnionType):
        return " or ".join(kind(member) for member in arguments)
    if origin is tuple:
        return f"a list separated by commas, each {kind(arguments[0])}"
    return _KINDS.get(hint, str(hint))


def written(value: object) -> str:
    """Return a value as the command line would write it; `parse_value` reads it back.

    >>> written((256, 256)), written(None), written(True), written(("mean", "mean, L2"))
    ('256,256', 'none', 'true', 'mean,"mean, L2"')
    """
    if isinstance(value, tuple | list):
        return ",".join(_quoted(written(part)) for part in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # any items
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"' if "," in part or '"' in part else part
