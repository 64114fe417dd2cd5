"""The exact path, for any module: one backward pass for each environment, one environment's gradient at a time."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments


def environment_gradients(
    losses: Float[Tensor, " b"], environments: Environments, parameters: Sequence[Tensor]
) -> Iterator[list[Tensor | None]]:
    """Yield, environment by environment, the gradient of its mean loss: E backward passes, exact for every module.

    This is the definition that every fast path must equal (equation 1 of the paper: g_e is the gradient of L_e). A
    parameter that an environment's loss does not reach has gradient None.

    Args:
        losses: one loss for each example; their graph is kept.
        environments: the partition of the batch.
        parameters: what to differentiate with respect to.
    """
    weights = environments.mean_weights(losses)
    for e in range(environments.count):
        own = torch.where(environments.index == e, weights, 0)
        yield list(torch.autograd.grad(losses, parameters, own, retain_graph=True, allow_unused=True))


def dense(gradient: Tensor) -> Tensor:
    """Return a gradient with every component: of a row that an embedding's sparse one leaves out it is 0."""
    return gradient if gradient.layout == torch.strided else gradient.to_dense()


def taken(gradients: list[Tensor | None], position: int) -> Tensor | None:
    """Take a gradient out of a list, contiguous and in memory of its own, without a copy where nobody else can see that memory.

    Autograd may hand out one tensor for two parameters, or an expanded one; a user's hook may have kept it, or a view of it.
    """
    whole = gradients[position]
    if whole is None:
        return None
    plain, whole = whole.layout == torch.strided and whole.is_contiguous(), None  # the list's reference is the only one now
    found = gradients[position] if plain and _holders(gradients, position) in _ALONE else None
    if found is None:
        found = dense(cast("Tensor", gradients[position])).clone(memory_format=torch.contiguous_format)
    gradients[position] = None
    return found.data  # no view of anything: where it came from is forgotten


def _holders(gradients: Sequence[Tensor | None], position: int) -> tuple[int, ...] | None:
    """Count who holds a gradient: in Python, in C++, its memory, and what it is a view of; None where that cannot be known."""
    gradient: Any = gradients[position]
    if _MEMORY is None or not hasattr(gradient, "_use_count"):
        return None
    memory, base = gradient.untyped_storage(), gradient._base
    if memory.nbytes() != gradient.nbytes:
        return None  # a part of something
    of_base = 0 if base is None else base._use_count()
    return sys.getrefcount(gradient), gradient._use_count(), _MEMORY(memory._cdata), of_base


_MEMORY: Callable[[int], int] | None = getattr(getattr(torch, "_C"), "_storage_Use_Count", None)  # noqa: B009  # a private module
"""Not a public name of torch: where a release lacks it, gradients are copied."""


def _alone() -> frozenset[tuple[int, ...] | None]:
    """Return what is counted where nobody else holds a tensor, or a view and what it is a view of."""
    with torch.no_grad():
        examples: list[Tensor | None] = [torch.zeros(2), torch.zeros(2, 2).t()]
    found = frozenset(_holders(examples, position) for position in range(2))
    return found - {None}


_ALONE = _alone()


def stream_environment_gradients(
    losses: Float[Tensor, " b"],
    environments: Environments,
    parameters: Mapping[str, Tensor],
    blank: Callable[[Tensor], RunningSums],
    norms: Float[Tensor, " e"] | None = None,
) -> dict[str, RunningSums]:
    """Add up every environment's gradient, one backward pass each, holding one environment's gradient at a time.

    A parameter that no environment reaches is left out, as plain backpropagation would leave its ``.grad`` None.

    Args:
        losses: one loss for each example; their graph is kept.
        environments: the partition of the batch.
        parameters: what to differentiate with respect to, by name.
        blank: makes empty sums for a parameter.
        norms: what each environment's gradient is divided by; None for nothing.
    """
    if not parameters:
        return {}
    sums = {name: blank(parameter) for name, parameter in parameters.items()}
    reached: set[str] = set()
    for e, gradients in enumerate(environment_gradients(losses, environments, list(parameters.values()))):
        for name, gradient in zip(parameters, gradients, strict=True):
            if gradient is None:
                sums[name].add_silent(1)
            else:
                reached.add(name)
                # add() overwrites its argument, and autograd may hand out one tensor for two parameters: hence the copy.
                own = dense(gradient).to(sums[name].dtype, copy=True)
                sums[name].add((own if norms is None else own.div_(norms[e].to(own.dtype)))[None])
    return {name: sums[name] for name in parameters if name in reached}
