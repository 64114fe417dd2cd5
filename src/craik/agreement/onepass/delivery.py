"""How a gradient reaches ``.grad``: as ``loss.backward()`` would bring it, in place and past the user's hooks."""

import torch
from torch import Tensor


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
