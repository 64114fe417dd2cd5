"""What a public argument may be, in sentences: the rule, the value found, the way out. For public doors only.

Every check returns nothing and raises TypeError for a value of another type (True and False are no numbers) and ValueError for
one out of its range. ``why`` goes behind the rule, ``way_out`` to the end; both may be empty.
"""

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

from torch import Tensor


def check_positive(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Refuse what is no finite number above 0.

    >>> check_positive("epsilon", 0.0, why="how far a loss may move", way_out="Try a tenth of the loss.")
    Traceback (most recent call last):
    ValueError: `epsilon` should be positive and finite: how far a loss may move. Found 0.0. Try a tenth of the loss.
    """
    _check_number(name, value, lambda x: 0 < x < math.inf, "be positive and finite", why, way_out)


def check_not_negative(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Refuse what is no finite number of at least 0."""
    _check_number(name, value, lambda x: 0 <= x < math.inf, "be finite and at least 0", why, way_out)


def check_share(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Refuse what is no number in [0, 1]."""
    _check_number(name, value, lambda x: 0 <= x <= 1, "lie in [0, 1]", why, way_out)


def check_decay(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Refuse what is no number in [0, 1): 1 would never forget."""
    _check_number(name, value, lambda x: 0 <= x < 1, "lie in [0, 1)", why, way_out)


def check_whole(name: str, value: object, least: int = 0, *, why: str = "", way_out: str = "") -> None:
    """Refuse what is no whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(_sentence(name, f"be a whole number{_because(why)}", _typed(value), way_out))
    if int(value) < least:
        raise ValueError(_sentence(name, f"be at least {least}{_because(why)}", repr(value), way_out))


def check_flag(name: str, value: object, *, way_out: str = "") -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError(_sentence(name, "be True or False", _typed(value), way_out))


def check_one_of(name: str, value: object, options: Sequence[str | None], *, way_out: str = "") -> None:
    """Refuse what is none of some words.

    >>> check_one_of("kernel", "fast", ("torch", "compiled"))
    Traceback (most recent call last):
    ValueError: `kernel` should be "torch" or "compiled". Found 'fast'.
    """
    if not (value is None or isinstance(value, str)) or value not in options:
        words = ["None" if option is None else f'"{option}"' for option in options]
        listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        raise ValueError(_sentence(name, f"be {listed}", repr(value), way_out))


def check_shape(name: str, tensor: object, *sizes: int | str, way_out: str = "") -> None:
    """Refuse what is no tensor of a shape; a letter stands for any size of at least 1, the same wherever it stands.

    >>> import torch
    >>> check_shape("mask", torch.ones(3), "B", 3, way_out="Add a dimension.")
    Traceback (most recent call last):
    ValueError: `mask` should have the shape (B, 3). Found (3,). Add a dimension.
    """
    shape = f"have the shape ({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
    if not isinstance(tensor, Tensor):
        raise TypeError(_sentence(name, f"be a tensor and {shape}", _typed(tensor), way_out))
    letters: dict[str, int] = {}
    fits = tensor.dim() == len(sizes) and all(
        found == size if isinstance(size, int) else 0 < found == letters.setdefault(size, found)
        for found, size in zip(tensor.shape, sizes, strict=True)
    )
    if not fits:
        raise ValueError(_sentence(name, shape, str(tuple(tensor.shape)), way_out))


def _check_number(name: str, value: Any, allows: Callable[[Any], bool], rule: str, why: str, way_out: str) -> None:  # noqa: ANN401
    # A learning rate may be a tensor with one element, as in torch's own optimisers.
    one = isinstance(value, Tensor) and value.numel() == 1 and value.is_floating_point()
    if isinstance(value, bool) or not (one or isinstance(value, Real)):
        raise TypeError(_sentence(name, f"be a number and {rule}{_because(why)}", _typed(value), way_out))
    if not allows(value):
        raise ValueError(_sentence(name, rule + _because(why), repr(float(value)), way_out))


def _because(why: str) -> str:
    return why and f": {why}"


def _typed(value: object) -> str:
    return f"{value!r} of type {type(value).__name__}"


def _sentence(name: str, rule: str, found: str, way_out: str) -> str:
    return f"`{name}` should {rule}. Found {found}.{way_out and f' {way_out}'}"
