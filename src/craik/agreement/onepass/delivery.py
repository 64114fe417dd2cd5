"""How a gradient reaches ``.grad``: as ``loss.backward()`` would bring it, in place and past the user's hooks."""

import torch
from torch import Tensor


def deliver(leaf: Tensor, gradient: Tensor) -> None:
    """Add a gradient to a leaf's ``.grad``, in the memory that is there; the leaf's hooks run once, on this gradient.

    Hooks are those of `torch.Tensor.register_hook` and `register_post_accumulate_grad_hook`.
    """
    gradient = gradient.detach().to(leaf.dtype)
    if leaf._backward_hooks or getattr(leaf, "_post_accumulate_grad_hooks", None):
        torch.autograd.backward([leaf], [gradient])
        return
    with torch.no_grad():
        if leaf.grad is None:
            leaf.grad = gradient
        elif leaf.grad.layout == gradient.layout:
            leaf.grad.add_(gradient)
        else:
            leaf.grad = gradient + leaf.grad  # in this order torch adds a sparse one
