"""Numbers in a range, flags, and words of a few."""

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

from torch import Tensor

from mechlearn.arguments.sentences import because, sentence, typed

LARGEST = 2**63 - 1
"""Of whole numbers: the largest that a tensor holds. A seed may be twice as large."""


def check_positive(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Reject anything but a finite number above 0.

    >>> check_positive("epsilon", 0.0, why="how far a loss may move", way_out="Try a tenth of the loss.")
    Traceback (most recent call last):
    ValueError: `epsilon` should be positive and finite: how far a loss may move. Found 0.0. Try a tenth of the loss.
    """
    _check_number(name, value, lambda x: 0 < x < math.inf, "be positive and finite", why, way_out)


def check_not_negative(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Reject anything but a finite number of at least 0."""
    _check_number(name, value, lambda x: 0 <= x < math.inf, "be finite and at least 0", why, way_out)


def check_finite(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Reject anything but a finite number."""
    _check_number(name, value, lambda x: -math.inf < x < math.inf, "be finite", why, way_out)


def check_share(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Reject anything but a number in [0, 1]."""
    _check_number(name, value, lambda x: 0 <= x <= 1, "lie in [0, 1]", why, way_out)


def check_decay(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Reject anything but a number in [0, 1): 1 would never forget."""
    _check_number(name, value, lambda x: 0 <= x < 1, "lie in [0, 1)", why, way_out)


def check_whole(name: str, value: object, least: int = 0, *, most: int = LARGEST, why: str = "", way_out: str = "") -> None:
    """Reject anything but a whole number from ``least`` to ``most``, which is the largest that a tensor holds."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(sentence(name, f"be a whole number{because(why)}", typed(value), way_out))
    if int(value) < least:
        raise ValueError(sentence(name, f"be at least {least}{because(why)}", repr(value), way_out))
    if int(value) > most:
        raise ValueError(sentence(name, f"be at most {most}{because(why)}", _digits(int(value)), way_out))


def check_seed(seed: object, *, why: str = "") -> None:
    """Reject anything but a seed: a whole number that a generator takes, below 2^64."""
    check_whole("seed", seed, most=2**64 - 1, why=why)


def check_flag(name: str, value: object, *, way_out: str = "") -> None:
    """Reject what is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError(sentence(name, "be True or False", typed(value), way_out))


def check_one_of(name: str, value: object, options: Sequence[str | None], *, way_out: str = "") -> None:
    """Reject what is none of some words.

    >>> check_one_of("kernel", "fast", ("torch", "compiled"))
    Traceback (most recent call last):
    ValueError: `kernel` should be "torch" or "compiled". Found 'fast'.
    """
    if not (value is None or isinstance(value, str)) or value not in options:
        words = ["None" if option is None else f'"{option}"' for option in options]
        listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        raise ValueError(sentence(name, f"be {listed}", repr(value), way_out))


def _check_number(name: str, value: Any, allows: Callable[[Any], bool], rule: str, why: str, way_out: str) -> None:  # noqa: ANN401
    # A learning rate may be a tensor with one element, as in torch's own optimisers.
    one = isinstance(value, Tensor) and value.numel() == 1 and value.is_floating_point()
    if isinstance(value, bool) or not (one or isinstance(value, Real)):
        raise TypeError(sentence(name, f"be a number and {rule}{because(why)}", typed(value), way_out))
    if isinstance(value, int) and abs(value) > LARGEST:
        way_out = way_out or f"Write {name}=float(...)."
        raise ValueError(sentence(name, f"be at most {LARGEST} in size if it is an int", _digits(value), way_out))
    if not allows(value):
        raise ValueError(sentence(name, rule + because(why), repr(float(value)), way_out))


def _digits(value: int) -> str:
    return f"one of {len(str(abs(value)))} digits"
