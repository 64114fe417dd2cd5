"""What the engine reads: batches of (x, x*, y) for the inner steps, labelled examples for validation.

Index conventions: i an inner step of n, b an example of a batch, t a frame of a trajectory, k a unit of the student.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from jaxtyping import Shaped
from torch import Tensor

from mechlearn import arguments
from mechlearn.distill.examples.inputs import Inputs, at, first, mapped, prepared, tensors

_CONVERT = "Convert it with torch.as_tensor."


class Labelled(NamedTuple):
    """Inputs and labels without privileged data, as validation and test have them.

    Attributes:
        x: (B, ...) inputs.
        y: (B, ...) labels.
    """

    x: Inputs
    y: Shaped[Tensor, "b ..."]


class Examples(NamedTuple):
    """Training examples; the privileged part is there in training only.

    `x` and `privileged` are tensors, mappings of tensors (TensorDicts, too), or `mechlearn.trajectories.Trajectories` of
    different
    lengths: see `mechlearn.distill.Ragged` for what a module gets then.

    Attributes:
        x: (B, ...) what the student sees.
        privileged: (B, ...) the paper's x*, what the teacher sees: a future trajectory, for example.
        y: (B, ...) labels.
    """

    x: Inputs
    privileged: Inputs
    y: Shaped[Tensor, "b ..."]

    def rows(self, indices: Tensor) -> "Examples":
        """Return the examples at `indices`; indices of shape (n, B) give `Batches`' layout.

        Raises:
            TypeError: indices that are no tensor.
        """
        arguments.check_tensor("indices", indices, way_out=_CONVERT)

        def taken(tensor: Tensor) -> Tensor:
            return tensor[indices.to(tensor.device)]

        return Examples(mapped(taken, self.x), mapped(taken, self.privileged), taken(self.y))


class Batches(NamedTuple):
    """The n batches of an unroll, stacked: one for each inner step, in order.

    Attributes:
        x: (n, B, ...) what the student sees; a tensor, a mapping, or `mechlearn.distill.Ragged`.
        privileged: (n, B, ...) the paper's x*, what the teacher sees; likewise.
        y: (n, B, ...) labels.
    """

    x: Inputs
    privileged: Inputs
    y: Shaped[Tensor, "n b ..."]

    def at(self, index: Any) -> "Batches":  # noqa: ANN401  # whatever a tensor can be indexed by
        """Return what stands at an index of the leading dimensions, such as one student's batches among several's."""
        return Batches(at(self.x, index), at(self.privileged, index), self.y[index])


def check_batches(batches: Batches) -> Batches:
    """Return batches as modules get them; refuse what are none, what does not line up, and an unroll of no steps."""
    x, privileged, y = made = Batches(*_prepared("batches", batches, Batches, 2))
    shape = first(x).shape
    if shape[0] == 0:
        raise ValueError("An unroll should take n >= 1 inner steps. Found n = 0 batches. Give batches of shape (n, B, ...).")
    for what, part in (("inputs", x), ("privileged data", privileged), ("labels", y)):
        for tensor in tensors(part):
            if tensor.shape[:2] != shape[:2]:
                raise ValueError(
                    "Inputs, privileged data and labels should have the same n batches of B examples. Found "
                    f"{what} with (n, B) = {tuple(tensor.shape[:2])} beside inputs with {tuple(shape[:2])}. Give one row for "
                    "each example to all three."
                )
    if len(shape) < 2 or shape[1] == 0:
        raise ValueError(
            f"Batches should have shape (n, B, ...) with B >= 1. Found inputs of shape {tuple(shape)}. Stack one "
            f"batch for each "
            "inner step."
        )
    return made


def check_labelled(labelled: Labelled) -> Labelled:
    """Return validation data as modules get them; refuse what are none, are empty, or do not line up."""
    x, y = made = Labelled(*_prepared("validation", labelled, Labelled, 1))
    counts = {len(tensor) for tensor in tensors(x)}
    if counts != {len(y)} or len(y) == 0:
        raise ValueError(
            f"Validation data should hold at least one example, and a label for each. Found {_listed(counts)} inputs and "
            f"{len(y)} labels. Choose a split that leaves examples on both sides."
        )
    return made


def check_examples(examples: Examples) -> Examples:
    """Return examples as modules get them; refuse what are none, and what does not line up."""
    made = Examples(*_prepared("examples", examples, Examples, 1))
    sizes = {name: sorted({len(tensor) for tensor in tensors(part)}) for name, part in made._asdict().items()}
    if len({size for found in sizes.values() for size in found}) != 1:
        raise ValueError(
            "Inputs, privileged data and labels should have one row for each example. Found "
            f"{ {name: _listed(found) for name, found in sizes.items()} }. Drop the rows without a counterpart."
        )
    return made


def _ordinary(tensor: Tensor) -> Tensor:
    """Return a tensor that a graph may hold: of one that was made in torch.inference_mode() a copy."""
    return tensor.clone() if tensor.is_inference() else tensor


def _listed(counts: Iterable[int]) -> str:
    return " and ".join(map(str, sorted(counts)))


def _prepared(name: str, bundle: Any, kind: Any, dims: int) -> list[Any]:  # noqa: ANN401  # anything
    """Return the parts of a bundle; refuse another bundle than the one that is meant, and parts that cannot be read."""
    fields: tuple[str, ...] = kind._fields
    shape = ("(B, ...)", "(n, B, ...)")[dims - 1]
    made = f"mechlearn.distill.{kind.__name__}({', '.join(fields)})"
    arguments.check_kind(name, bundle, kind, made, way_out=f"Put tensors of shape {shape} into one.")
    found: list[Any] = []
    for field, part in zip(fields, bundle, strict=True):
        if field == "y":
            arguments.check_tensor(f"{name}.{field}", part, way_out=_CONVERT)
        made_of = prepared(f"{name}.{field}", part, 1 if field == "y" else dims)
        found.append(made_of if kind is Examples else mapped(_ordinary, made_of))  # rows of examples are copies
    return found
