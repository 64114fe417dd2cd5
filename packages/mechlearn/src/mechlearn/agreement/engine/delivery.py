"""How gradients change hands: taken from autograd, and brought to ``.grad`` as ``loss.backward()`` would bring them.

They are taken without a copy where nobody else can see them, and delivered in place and past the user's hooks.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, cast

import torch
from torch import Tensor

from mechlearn.agreement.engine.streaming import dense


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


HOOKS = RLock()
"""Held where users' hooks on parameters run or are kept from running: a model's are one dictionary to all threads."""


@contextmanager
def silent(leaves: Iterable[Tensor]) -> Generator[None]:
    """Keep the users' hooks on leaves from running in the passes within: they run once, when the gradient is delivered."""
    ever = [found for leaf in leaves if (found := leaf._backward_hooks) is not None]
    if not ever:
        yield
        return
    with HOOKS:
        hooks = [found for found in ever if found]
        kept = [dict(found) for found in hooks]
        try:
            for found in hooks:
                found.clear()
            yield
        finally:
            for found, before in zip(hooks, kept, strict=True):
                found.update(before)


def cast_for(leaf: Tensor, gradient: Tensor) -> Tensor:
    """Return a gradient in the type that a leaf's ``.grad`` has: the leaf's own, or what its ``grad_dtype`` asks for."""
    wanted: torch.dtype | None = getattr(leaf, "grad_dtype", leaf.dtype)
    return gradient if wanted is None or gradient.dtype == wanted else gradient.to(wanted)


def cast_all(leaves: Mapping[str, Tensor], gradients: Mapping[str, Tensor], refuse_nonfinite: bool) -> dict[str, Tensor]:
    """Return combined gradients, by name, in the types that their leaves' ``.grad`` have.

    Args:
        leaves: by name, these and maybe others.
        gradients: finite ones, where ``refuse_nonfinite``.
        refuse_nonfinite: refuse what is infinite in a narrower type.

    Raises:
        FloatingPointError: says which.
    """
    found = {name: cast_for(leaves[name], gradient) for name, gradient in gradients.items()}
    narrowed = [name for name, gradient in found.items() if refuse_nonfinite and gradient.dtype != gradients[name].dtype]
    finite = [torch.isfinite(found[name]).all() for name in narrowed]
    fine = torch.stack([one.to(finite[0].device) for one in finite]).tolist() if finite else []  # one wait for a device
    for name, is_fine in zip(narrowed, fine, strict=True):
        if not is_fine:
            raise FloatingPointError(
                f"A combined gradient should be within the range of its parameter's {found[name].dtype}. Found a component of "
                f"{float(gradients[name].abs().max()):.3g} for {name!r}. Scale the losses down, or pass rescale='root' or "
                "False; no gradient was changed."
            )
    return found


def deliver(leaf: Tensor, gradient: Tensor) -> None:
    """Add a gradient to a leaf's ``.grad``, in the memory that is there; the leaf's hooks run once, on this gradient.

    Hooks are those of `torch.Tensor.register_hook` and `register_post_accumulate_grad_hook`.
    """
    gradient = cast_for(leaf, gradient.detach() if gradient.requires_grad else gradient)
    if leaf._backward_hooks is not None or getattr(leaf, "_post_accumulate_grad_hooks", None):
        with HOOKS:
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
