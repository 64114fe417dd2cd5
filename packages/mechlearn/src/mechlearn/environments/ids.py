"""Environment ids: integers, strings or anything hashable, one for each example."""

import contextlib
from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

EnvironmentIds = Tensor | np.ndarray | Sequence[Any]
"""One id for each example: integers, strings or anything hashable. What it holds is checked by `read_ids`, with a sentence."""

Ids = Tensor | tuple[Hashable, ...]
"""The distinct ids of E environments: an int64 tensor where they are integers that it holds, else the user's own objects."""


def named(ids: Ids, position: int) -> object:
    """Return one of several ids as the user wrote it: a number, not a tensor that holds one."""
    found = ids[position]
    return found.item() if isinstance(found, Tensor) else found


def read_ids(environments: object) -> Tensor | Sequence[Any]:
    """Return ids as an int64 tensor on the CPU, where all bookkeeping happens, or as a sequence of what is hashable.

    Ids usually come from a loader, and the sizes of environments are needed as Python numbers.
    """
    if isinstance(environments, range):
        return torch.arange(environments.start, environments.stop, environments.step)
    if isinstance(environments, list | tuple):
        return _of_items(environments)
    if isinstance(environments, Tensor):
        return _of_tensor(environments)
    if isinstance(environments, str | bytes) or not (hasattr(environments, "__array__") or isinstance(environments, Sequence)):
        raise TypeError(_WANTED + f"Found {type(environments).__name__}. Pass a tensor, an array or a list of ids.")
    return _of_array(np.asarray(environments))


def _of_tensor(ids: Tensor) -> Tensor | Sequence[Any]:
    if ids.layout != torch.strided or ids.is_nested or ids.is_meta:
        raise TypeError(_WANTED + "Found a tensor that is sparse, nested or without data. Pass a dense one.")
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(_WANTED + f"Found dtype {ids.dtype}, which counts nothing. {_NUMBER}")
    ids = ids.detach().cpu()
    if ids.dtype == torch.uint64 and bool((ids.view(torch.int64) < 0).any()):
        return ids.tolist()
    return ids.to(torch.int64)


def _of_array(array: np.ndarray) -> Tensor | Sequence[Any]:
    if array.dtype.kind in "bfc":
        raise TypeError(_WANTED + f"Found dtype {array.dtype}, which counts nothing. {_NUMBER}")
    if array.dtype == np.uint64 and array.size and array.max() > _LARGEST:
        return array.tolist()
    if array.dtype.kind in "iu":
        return torch.from_numpy(array.astype(np.int64))
    if array.ndim != 1:
        raise ValueError(_WANTED + f"Found shape {array.shape}. Make one id of what identifies an environment.")
    return _of_items(list(array) if array.dtype.kind in "Mm" else array.tolist())


def _of_items(items: Sequence[Any]) -> Tensor | Sequence[Any]:
    kinds = set(map(type, items))
    if any(issubclass(kind, Tensor) for kind in kinds):
        items = [item.item() if isinstance(item, Tensor) and item.numel() == 1 else item for item in items]
        kinds = set(map(type, items))
    for kind in kinds:
        if issubclass(kind, _NO_IDS):
            found = next(item for item in items if type(item) is kind)
            raise TypeError(_WANTED + f"Found {found!r} of type {kind.__name__}. {_NUMBER}")
    if all(issubclass(kind, Integral) for kind in kinds):
        with contextlib.suppress(OverflowError):
            return torch.from_numpy(np.array(items, dtype=np.int64))
    return items


def distinct(items: Sequence[Any]) -> list[Hashable]:
    """Return every id once: ascending where they have an order, else as they appear."""
    try:
        found: list[Any] = list(dict.fromkeys(items))
    except TypeError as error:
        raise TypeError(_WANTED + f"Found one that is not: {error}. Make a tuple or a string of it.") from None
    with contextlib.suppress(TypeError):
        return sorted(found)  # a copy: a sort in place that fails leaves the half of it
    return found


_WANTED = "`environments` should hold one id for each example: integers, strings or whatever is hashable. "
_NUMBER = "Number the environments, for example with torch.unique(..., return_inverse=True)."
_NO_IDS = (bool, np.bool_, float, np.floating, complex, np.complexfloating, type(None), Tensor)
"""A number that is no integer, a truth and a missing value are mistaken for ids more often than meant as ones."""

_LARGEST = np.uint64(2**63 - 1)
