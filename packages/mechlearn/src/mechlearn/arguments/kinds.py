"""Values of a class, what can be called, lists, paths, dictionaries of tensors."""

import os
from collections.abc import Mapping

from torch import Tensor

from mechlearn.arguments.sentences import named, sentence


def check_kind(name: str, value: object, kind: type | tuple[type, ...], what: str, *, way_out: str = "") -> None:
    """Reject anything but an instance of a class (or of one of some).

    >>> check_kind("layers", 3, (list, tuple), "a list of names", way_out='Write ["read"].')
    Traceback (most recent call last):
    TypeError: `layers` should be a list of names. Found 3 of type int. Write ["read"].
    """
    if not isinstance(value, kind):
        raise TypeError(sentence(name, f"be {what}", named(value), way_out))


def check_callable(name: str, value: object, what: str, *, way_out: str = "") -> None:
    """Reject what cannot be called; a class is refused, too, where its instance is meant."""
    if isinstance(value, type) or not callable(value):
        raise TypeError(sentence(name, f"be {what}", named(value), way_out))


def check_params(name: str, value: object, *, way_out: str = "mechlearn.params.parameters_of(model) gives a model's.") -> None:
    """Reject anything but a dictionary of tensors by name, and one of none."""
    rule = "a dictionary of tensors by name"
    check_kind(name, value, Mapping, rule, way_out=way_out)
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(sentence(name, f"be {rule}, of one at least", "none", way_out))
        for key, one in value.items():  # pyright: ignore[reportUnknownVariableType]
            check_kind(f"{name}[{key!r}]", one, Tensor, "a tensor", way_out=way_out)


def check_each(name: str, value: object, kind: type | tuple[type, ...], what: str, *, way_out: str = "") -> None:
    """Reject anything but a list or tuple, and a list with an entry that is no instance of a class.

    >>> check_each("parts", [1], str, "words")
    Traceback (most recent call last):
    TypeError: `parts` should be a list of words. Found 1 of type int at 0.
    """
    check_kind(name, value, (list, tuple), f"a list of {what}", way_out=way_out)
    if isinstance(value, list | tuple):
        for place, one in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if not isinstance(one, kind):
                raise TypeError(sentence(name, f"be a list of {what}", f"{named(one)} at {place}", way_out))


def check_path(name: str, value: object) -> None:
    """Reject what names no file or folder."""
    check_kind(name, value, (str, os.PathLike), "the path of a file or folder", way_out="Pass a str or a pathlib.Path.")
