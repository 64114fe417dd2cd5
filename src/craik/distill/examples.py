"""What the engine reads: batches of (x, x*, y) for the inner steps, labelled examples for validation.

Index conventions: i an inner step of n, b an example of a batch, t a frame of a trajectory, k a unit of the student.
"""

from typing import NamedTuple

import torch
from jaxtyping import Shaped
from torch import Generator, Tensor


class Labelled(NamedTuple):
    """Inputs and labels without privileged data, as validation and test have them.

    Attributes:
        x: (B, ...) inputs.
        y: (B, ...) labels.
    """

    x: Shaped[Tensor, "b ..."]
    y: Shaped[Tensor, "b ..."]


class Examples(NamedTuple):
    """Training examples; the privileged part is there in training only.

    Attributes:
        x: (B, ...) what the student sees.
        privileged: (B, ...) the paper's x*, what the teacher sees: a future trajectory, for example.
        y: (B, ...) labels.
    """

    x: Shaped[Tensor, "b ..."]
    privileged: Shaped[Tensor, "b ..."]
    y: Shaped[Tensor, "b ..."]

    def rows(self, indices: Tensor) -> "Examples":
        """Return the examples at `indices`; indices of shape (n, B) give `Batches`' layout."""
        return Examples(*(tensor[indices.to(tensor.device)] for tensor in self))


class Batches(NamedTuple):
    """The n batches of an unroll, stacked: one for each inner step, in order.

    Attributes:
        x: (n, B, ...) what the student sees.
        privileged: (n, B, ...) the paper's x*, what the teacher sees.
        y: (n, B, ...) labels.
    """

    x: Shaped[Tensor, "n b ..."]
    privileged: Shaped[Tensor, "n b ..."]
    y: Shaped[Tensor, "n b ..."]


class Split(NamedTuple):
    """Row numbers of the two parts of the training data.

    Attributes:
        training: rows that the student's steps, inner and real, draw from.
        validation: rows whose label loss the teacher lowers.
    """

    training: Tensor
    validation: Tensor


def split_rows(count: int, validation: float, generator: Generator) -> Split:
    """Split `count` rows at random into a training and a validation part.

    Args:
        count: number of examples.
        validation: the share, in (0, 1), of rows for validation (the paper's validation split).
        generator: of the permutation.

    Raises:
        ValueError: a share that leaves one of the parts empty.
    """
    held_out = round(validation * count)
    if not 0 < held_out < count:
        raise ValueError(
            f"A validation split should leave examples on both sides. Found validation={validation} of {count} examples, that "
            f"is {held_out} for validation. Choose a share in between, or take more examples."
        )
    order = torch.randperm(count, generator=generator)
    return Split(order[held_out:].sort().values, order[:held_out].sort().values)
