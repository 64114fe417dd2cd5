"""Ranges of numbers in settings: what lies outside is refused where the setting is made, with its name and its value."""

from numbers import Integral
from typing import Any


def at_least_one(**given: Any) -> None:  # noqa: ANN401  # whatever a user passes
    """Refuse what is no integer of at least 1."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
            raise ValueError(f"`{name}` should be an integer of at least 1. Found {value!r}.")


def not_negative(**given: float) -> None:
    """Refuse negative numbers and NaN."""
    for name, value in given.items():
        if not value >= 0:
            raise ValueError(f"`{name}` should be at least 0. Found {value!r}.")


def positive(**given: float) -> None:
    """Refuse numbers that are not above 0, and NaN."""
    for name, value in given.items():
        if not value > 0:
            raise ValueError(f"`{name}` should be positive. Found {value!r}.")
