"""What a public argument may be, as sentences: the rule, the value found. Used where a setting is made, with its name."""

from collections.abc import Sequence
from numbers import Integral


def whole(name: str, value: object, least: int = 1) -> None:
    """Refuse what is no integer of at least `least`.

    Raises:
        ValueError: another type, a bool, or a smaller number.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"`{name}` should be an integer of at least {least}. Found {value!r}.")


def not_negative(name: str, value: float) -> None:
    """Refuse negative numbers and NaN.

    Raises:
        ValueError: either of them.
    """
    if not value >= 0:
        raise ValueError(f"`{name}` should be at least 0. Found {value!r}.")


def positive(name: str, value: float) -> None:
    """Refuse numbers that are not above 0, and NaN.

    Raises:
        ValueError: either of them.
    """
    if not value > 0:
        raise ValueError(f"`{name}` should be positive. Found {value!r}.")


def share(name: str, value: float) -> None:
    """Refuse numbers outside [0, 1), and NaN.

    Raises:
        ValueError: either of them.
    """
    if not 0 <= value < 1:
        raise ValueError(f"`{name}` should be in [0, 1). Found {value!r}.")


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a choice that there is not.

    Raises:
        ValueError: `value` is none of `choices`.
    """
    if value not in choices:
        raise ValueError(f"`{name}` should be one of {', '.join(choices)}. Found {value!r}.")
