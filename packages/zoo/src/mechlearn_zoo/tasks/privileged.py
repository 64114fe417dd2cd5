"""What the worlds of chapter 4 share: examples with privileged data, in three splits."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Shaped
from torch import Tensor


class Part(NamedTuple):
    """The examples of one split; the privileged part is there in training only.

    Attributes:
        x: (b, ...) what is there whenever a prediction is asked for.
        privileged: (b, ...) the papers' x*, a future trajectory for example.
        y: (b, ...) labels.
    """

    x: Shaped[Tensor, "b ..."]
    privileged: Shaped[Tensor, "b ..."]
    y: Shaped[Tensor, "b ..."]


class PrivilegedData(NamedTuple):
    """One dataset.

    Attributes:
        train: what is trained on; a teacher's validation set is split off here.
        selection: held out, for choosing settings and when to stop; nothing is trained on it.
        test: for reporting.
    """

    train: Part
    selection: Part
    test: Part


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Reject sizes below 1; each stands under its argument's name.

    Raises:
        ValueError: a size is below 1.
    """
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"`{name}` should be at least 1. Found {size}.")
