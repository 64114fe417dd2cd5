"""Spot checks: every so many calls one environment's gradient by the definition, against what the engine made of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor
from torch.autograd.graph import Node


class SpotChecks:
    """Counts the calls that keep environments apart, and says which of them are to be checked.

    Args:
        every: the first of so many calls is; None for no call.
    """

    def __init__(self, every: int | None) -> None:
        self._every, self._calls = every, 0

    def environment(self, count: int) -> int | None:
        """Begin a call of so many environments; return the position of the one to check, another in each check."""
        if self._every is None:
            return None
        checks, behind = divmod(self._calls, self._every)
        self._calls += 1
        return checks % count if behind == 0 else None


def by_definition(
    losses: Tensor, weights: Tensor, rows: Tensor, parameters: Sequence[Tensor], *, retain_graph: bool
) -> Sequence[Tensor | None]:
    """Return the gradients of one environment's mean loss.

    Args:
        losses: (B,) unreduced.
        weights: (B,) what each loss is multiplied by.
        rows: (B,) which losses are the environment's.
        parameters: what to differentiate with respect to.
        retain_graph: keep the graph for another pass.
    """
    own = torch.where(rows, weights, 0)
    return torch.autograd.grad(losses, parameters, own, retain_graph=retain_graph, allow_unused=True)


def check_environment(
    found: Mapping[str, Tensor], wanted: Mapping[str, Tensor | None], environment: Callable[[], object], precision: float
) -> None:
    """Reject an environment's gradients that are not those of the definition.

    Half of the digits are compared: sums of products in another order differ in fewer.

    Args:
        found: by parameter name, what the engine made of them; none for 0.
        wanted: of the definition, None for 0.
        environment: returns the environment's id.
        precision: the rounding of the least precise type that they were computed in.

    Raises:
        ValueError: says of which parameter.
    """
    pairs: list[tuple[Tensor, Tensor]] = []
    for name, gradient in wanted.items():
        own = found.get(name)
        one = own if own is not None else gradient
        if one is not None:
            blank = torch.zeros_like(one)
            right = blank if gradient is None else gradient.to_dense() if gradient.layout != torch.strided else gradient
            pairs.append(((blank if own is None else own) - right, right))
        else:
            pairs.append((torch.zeros(()), torch.zeros(())))
    off, norms = ([one.double().norm().cpu() for one in column] for column in zip(*pairs, strict=True))
    whole = torch.stack(norms).norm()
    for name, distance, norm in zip(wanted, off, norms, strict=True):
        if distance > precision**0.5 * (norm + 0.1 * whole):
            raise ValueError(
                "An environment's gradient should be that of a backward pass of its own losses. Found another one of "
                f"{name!r} in environment {environment()!r}: {float(distance):.2g} away, of a norm of {float(norm):.2g}. "
                "Remove hooks on tensors in the model that do not treat each row by itself, or rows='independent' if an "
                "operation mixes rows; no gradient was changed."
            )


def precision_of(nodes: Iterable[Node]) -> float:
    """Return the rounding of the least precise type in a graph."""
    types = {each.dtype for node in nodes for each in node._input_metadata}  # pyright: ignore
    return max((torch.finfo(one).eps for one in types if one.is_floating_point), default=0.0)
