"""What autograd nodes saved, as Python numbers and arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import Node

_WRAP = 2**63


def saved(node: Node, name: str) -> Any:  # noqa: ANN401  # whatever it saved
    """Return what a node saved under a name."""
    return getattr(node, f"_saved_{name}")


def signed(value: int) -> int:
    """Return a dimension as it was given: nodes show negative ones as large numbers."""
    return value - 2 * _WRAP if value >= _WRAP else value


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
