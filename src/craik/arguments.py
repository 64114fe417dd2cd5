"""What a public argument may be, in sentences: the rule, the value found, the way out. For public doors only.

Every check returns nothing and raises TypeError for a value of another type (True and False are no numbers) and ValueError for
one out of its range. ``why`` goes behind the rule, ``way_out`` to the end; both may be empty.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from torch import Generator, Tensor


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


def check_finite(name: str, value: object, *, why: str = "", way_out: str = "") -> None:
    """Refuse what is no finite number."""
    _check_number(name, value, lambda x: -math.inf < x < math.inf, "be finite", why, way_out)


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


def check_kind(name: str, value: object, kind: type | tuple[type, ...], what: str, *, way_out: str = "") -> None:
    """Refuse what is no instance of a class (or of one of some).

    >>> check_kind("layers", 3, (list, tuple), "a list of names", way_out='Write ["read"].')
    Traceback (most recent call last):
    TypeError: `layers` should be a list of names. Found 3 of type int. Write ["read"].
    """
    if not isinstance(value, kind):
        raise TypeError(_sentence(name, f"be {what}", _named(value), way_out))


def check_callable(name: str, value: object, what: str, *, way_out: str = "") -> None:
    """Refuse what cannot be called; a class is refused, too, where its instance is meant."""
    if isinstance(value, type) or not callable(value):
        raise TypeError(_sentence(name, f"be {what}", _named(value), way_out))


def check_generator(name: str, value: object) -> None:
    """Refuse what is no generator of random numbers of torch's: ours never come from the global one."""
    check_kind(name, value, Generator, "a torch.Generator", way_out="Use torch.Generator().manual_seed(0).")


def check_tensor(name: str, value: object, *, way_out: str = "Convert it with torch.as_tensor.") -> None:
    """Refuse what is no tensor: arrays, lists, dictionaries, None."""
    check_kind(name, value, Tensor, "a tensor", way_out=way_out)


def check_numbers(name: str, value: object, *, way_out: str = "Convert it with torch.as_tensor.") -> None:
    """Refuse what is no tensor of real numbers; whole ones are."""
    check_tensor(name, value, way_out=way_out)
    if isinstance(value, Tensor) and value.is_complex():
        raise TypeError(_sentence(name, "hold real numbers", str(value.dtype), "Split them with torch.view_as_real."))


def check_params(name: str, value: object, *, way_out: str = "craik.params.parameters_of(model) gives a model's.") -> None:
    """Refuse what is no dictionary of tensors by name, and one of none."""
    rule = "a dictionary of tensors by name"
    check_kind(name, value, Mapping, rule, way_out=way_out)
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(_sentence(name, f"be {rule}, of one at least", "none", way_out))
        for key, one in value.items():  # pyright: ignore[reportUnknownVariableType]
            check_kind(f"{name}[{key!r}]", one, Tensor, "a tensor", way_out=way_out)


def check_each(name: str, value: object, kind: type | tuple[type, ...], what: str, *, way_out: str = "") -> None:
    """Refuse what is no list or tuple, and a list with an entry that is no instance of a class.

    >>> check_each("parts", [1], str, "words")
    Traceback (most recent call last):
    TypeError: `parts` should be a list of words. Found 1 of type int at 0.
    """
    check_kind(name, value, (list, tuple), f"a list of {what}", way_out=way_out)
    if isinstance(value, list | tuple):
        for place, one in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if not isinstance(one, kind):
                raise TypeError(_sentence(name, f"be a list of {what}", f"{_named(one)} at {place}", way_out))


def check_path(name: str, value: object) -> None:
    """Refuse what names no file or folder."""
    check_kind(name, value, (str, os.PathLike), "the path of a file or folder", way_out="Pass a str or a pathlib.Path.")


def _named(value: object) -> str:
    """Return a value in a few words, however large it is."""
    if value is None or isinstance(value, type):
        return "None" if value is None else f"the class {value.__name__} itself"
    shown = repr(value) if isinstance(value, int | float | str | bool) else ""
    return f"{shown} of type {type(value).__name__}" if 0 < len(shown) < 40 else f"an object of type {type(value).__name__}"


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
