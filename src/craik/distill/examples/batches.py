"""What the engine reads: batches of (x, x*, y) for the inner steps, labelled examples for validation.

Index conventions: i an inner step of n, b an example of a batch, t a frame of a trajectory, k a unit of the student.
"""

from typing import NamedTuple

from jaxtyping import Shaped
from torch import Tensor


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


def check_batches(x: Tensor, privileged: Tensor, y: Tensor) -> None:
    """Refuse batches that do not line up, and an unroll of no steps."""
    if len(x) == 0:
        raise ValueError("An unroll should take n >= 1 inner steps. Found n = 0 batches. Give batches of shape (n, B, ...).")
    for what, tensor in (("privileged data", privileged), ("labels", y)):
        if tensor.shape[:2] != x.shape[:2]:
            raise ValueError(
                f"Inputs, privileged data and labels should have the same n batches of B examples. Found {what} with (n, B) = "
                f"{tuple(tensor.shape[:2])} beside inputs with {tuple(x.shape[:2])}. Give one row for each example to "
                f"all three."
            )
    if x.dim() < 2 or x.shape[1] == 0:
        raise ValueError(
            f"Batches should have shape (n, B, ...) with B >= 1. Found inputs of shape {tuple(x.shape)}. Stack one "
            f"batch for each "
            "inner step."
        )


def check_labelled(what: str, x: Tensor, y: Tensor) -> None:
    """Refuse validation data that is empty or does not line up."""
    if len(x) == 0 or len(x) != len(y):
        raise ValueError(
            f"{what} should hold at least one example, and a label for each. Found {len(x)} inputs and {len(y)} labels. "
            f"Choose a "
            "split that leaves examples on both sides."
        )


def check_examples(examples: Examples) -> None:
    """Refuse examples that do not line up."""
    sizes = {name: len(part) for name, part in examples._asdict().items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(
            f"Inputs, privileged data and labels should have one row for each example. Found {sizes}. Drop the rows without a "
            "counterpart."
        )
