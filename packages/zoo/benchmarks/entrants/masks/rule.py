"""The AND-mask of stacked gradients, for the methods that stack: m * mean_e g_e, m = 1[ abs(sum_e sign g_e) >= k ]."""

import torch
from torch import Tensor

from mechlearn.agreement.rules import required_count


def and_mask(stack: Tensor, threshold: float) -> Tensor:
    """Return the masked mean of (E, *p) environment gradients, which are overwritten: no second stack is made."""
    mean = stack.mean(0)
    return masked(mean, stack.sign_().sum(0), len(stack), threshold)


def masked(mean: Tensor, sign: Tensor, environments: int, threshold: float) -> Tensor:
    """Return the mean where enough signs agree, 0 elsewhere.

    Args:
        mean: mean over e of g_e.
        sign: sum over e of sign(g_e).
        environments: E.
        threshold: the papers' tau.
    """
    return torch.where(sign.abs() >= required_count(threshold, environments), mean, 0.0)
