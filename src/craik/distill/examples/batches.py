"""What the engine reads: batches of (x, x*, y) for the inner steps, labelled examples for validation.

Index conventions: i an inner step of n, b an example of a batch, t a frame of a trajectory, k a unit of the student.
"""

from typing import Any, NamedTuple, cast

from jaxtyping import Shaped
from torch import Tensor

from craik import arguments

_CONVERT = "Convert it with torch.as_tensor."


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


def check_batches(batches: Batches) -> None:
    """Refuse what are no batches, batches that do not line up, and an unroll of no steps."""
    _check_bundle("batches", batches, Batches, "(n, B, ...)")
    x, privileged, y = batches
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


def check_labelled(labelled: Labelled) -> None:
    """Refuse validation data that are none, that are empty, or that do not line up."""
    _check_bundle("validation", labelled, Labelled, "(V, ...)")
    x, y = labelled
    if len(x) == 0 or len(x) != len(y):
        raise ValueError(
            f"Validation data should hold at least one example, and a label for each. Found {len(x)} inputs and {len(y)} "
            "labels. Choose a split that leaves examples on both sides."
        )


def check_examples(examples: Examples) -> None:
    """Refuse what are no examples, and examples that do not line up."""
    _check_bundle("examples", examples, Examples, "(B, ...)")
    sizes = {name: len(part) for name, part in examples._asdict().items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(
            f"Inputs, privileged data and labels should have one row for each example. Found {sizes}. Drop the rows without a "
            "counterpart."
        )


def _check_bundle(name: str, bundle: Any, kind: Any, shape: str) -> None:  # noqa: ANN401  # anything
    """Refuse another bundle than the one that is meant, and parts that are no tensors."""
    fields: tuple[str, ...] = kind._fields
    made = f"craik.distill.{kind.__name__}({', '.join(fields)})"
    arguments.check_kind(name, bundle, kind, made, way_out=f"Put tensors of shape {shape} into one.")
    for field, part in zip(fields, bundle, strict=True):
        way_out = "Write one tensor; a module of yours may take it apart." if isinstance(part, dict) else _CONVERT
        arguments.check_tensor(f"{name}.{field}", part, way_out=way_out)
        if cast(Tensor, part).dim() == 0:
            raise ValueError(f"`{name}.{field}` should have the shape {shape}. Found a scalar. Give one row for each example.")
