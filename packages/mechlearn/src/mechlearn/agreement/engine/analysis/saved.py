"""What autograd nodes saved, and what they read: the one place that knows their attributes' names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Size, Tensor
from torch.autograd.graph import Node

_WRAPPED = 2**63
"""Negative dimensions come out of a node as unsigned numbers of 64 bits."""


def saved(node: Node, name: str) -> Any:  # noqa: ANN401  # tensors, numbers, and tuples of either
    """Return a saved value; an array of tensors or numbers as a tuple."""
    return getattr(node, f"_saved_{name}")


def signed(value: int) -> int:
    """Return a number as it was before a node put it into 64 bits without a sign.

    >>> signed(2**64 - 1)
    -1
    """
    return value - 2**64 if value >= _WRAPPED else value


def dimension(node: Node, dims: int, name: str = "dim") -> int:
    """Return the saved dimension, counted from the front."""
    value = signed(saved(node, name))
    return value + dims if value < 0 else value


def dimensions(node: Node, dims: int, name: str = "dim") -> frozenset[int]:
    """Return the saved dimensions, counted from the front; all of them where none were saved."""
    value = saved(node, name)
    if isinstance(value, int):
        value = (value,)
    found: Sequence[int] = tuple(signed(v) for v in value or ())
    return frozenset(v + dims if v < 0 else v for v in found) or frozenset(range(dims))


def numpy(tensor: Tensor) -> np.ndarray:
    """Return a tensor of integers or booleans as an array."""
    return tensor.detach().to("cpu").numpy() if tensor.dtype == torch.bool else tensor.detach().to("cpu", torch.int64).numpy()


def slot_shape(node: Node, slot: int) -> Size:
    """Return the shape of what a node reads through one of its slots, and so of its gradient there."""
    child, output = node.next_functions[slot]
    if child is None:
        raise ValueError(f"Slot {slot} of {node.name()} should lead to a parameter. Found nothing that needs a gradient.")
    return output_shape(child, output)


def output_shape(node: Node, output: int = 0) -> Size:
    """Return the shape of a node's incoming gradient, that of what it computed."""
    return Size(node._input_metadata[output].shape)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def output_dtype(node: Node, output: int = 0) -> torch.dtype:
    """Return the type of a node's incoming gradient."""
    return node._input_metadata[output].dtype  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def missing(node: Node, name: str) -> bool:
    """Tell whether a node saved nothing under a name."""
    value: Tensor | None = getattr(node, f"_saved_{name}", None)
    return value is None
