"""How gradients change hands: taken from autograd, and brought to ``.grad`` as ``loss.backward()`` would bring them.

They are taken without a copy where nobody else can see them, and delivered in place and past the user's hooks.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from craik.agreement.onepass.streaming import dense


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


def deliver(leaf: Tensor, gradient: Tensor) -> None:
    """Add a gradient to a leaf's ``.grad``, in the memory that is there; the leaf's hooks run once, on this gradient.

    Hooks are those of `torch.Tensor.register_hook` and `register_post_accumulate_grad_hook`.
    """
    if gradient.requires_grad or gradient.dtype != leaf.dtype:
        gradient = gradient.detach().to(leaf.dtype)
    if leaf._backward_hooks or getattr(leaf, "_post_accumulate_grad_hooks", None):
        torch.autograd.backward([leaf], [gradient])
        return
    held = leaf.grad
    if held is None:
        leaf.grad = gradient
        return
    with torch.no_grad():
        if held.layout == gradient.layout:
            held.add_(gradient)
        else:
            leaf.grad = gradient + held  # in this order torch adds a sparse one
