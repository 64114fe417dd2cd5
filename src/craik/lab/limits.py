"""Limits of settings: what a Config's `__post_init__` refuses, before any work.

Of a field that is a tuple every element is checked; a field that is None is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def at_least(config: object, least: float | int, *names: str, why: str = "") -> None:
    """Refuses fields below `least`.

    >>> from types import SimpleNamespace
    >>> at_least(SimpleNamespace(environments=1), 2, "environments", why="one has nothing to agree with")
    Traceback (most recent call last):
    ValueError: environments should be at least 2: one has nothing to agree with. Found 1.

    Args:
        config: whose fields are checked.
        least: the smallest value that is taken.
        names: of the fields.
        why: the reason, where the field's sentence does not give it.

    Raises:
        ValueError: a value is smaller, infinite or not a number.
    """
    _check(config, names, lambda value: least <= value < math.inf, f"at least {least}", why)


def positive(config: object, *names: str) -> None:
    """Refuses fields that are not above 0.

    Raises:
        ValueError: a value is 0, negative, infinite or not a number.
    """
    _check(config, names, lambda value: 0 < value < math.inf, "positive and finite")


def between(config: object, low: float | int, high: float | int, *names: str, why: str = "") -> None:
    """Refuses fields outside [low, high].

    Args:
        config: whose fields are checked.
        low: the smallest value that is taken.
        high: the largest.
        names: of the fields.
        why: the reason, where the field's sentence does not give it.

    Raises:
        ValueError: a value lies outside or is not a number.
    """
    _check(config, names, lambda value: low <= value <= high, f"between {low} and {high}", why)


def not_empty(config: object, *names: str) -> None:
    """Refuses empty tuples.

    Raises:
        ValueError: a field has no elements.
    """
    for name in names:
        if not getattr(config, name):
            raise ValueError(f"{name} should have at least one value. Found none.")


def one_of(config: object, choices: Sequence[str], *names: str) -> None:
    """Refuses words that are not among the choices.

    Raises:
        ValueError: a word is none of them.
    """
    _check(config, names, lambda value: value in choices, f"among {', '.join(map(repr, choices))}")


def _check(config: object, names: Sequence[str], allows: Callable[[Any], bool], rule: str, why: str = "") -> None:
    for name in names:
        value = getattr(config, name)
        for element in value if isinstance(value, tuple) else (value,):
            if element is not None and not allows(element):
                raise ValueError(f"{name} should be {rule}{why and f': {why}'}. Found {element!r}.")
