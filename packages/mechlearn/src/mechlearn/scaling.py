"""Numbers whose squares and products stay within their type: halves in float32, rows over powers of two, without rounding."""

import torch
from jaxtyping import Float
from torch import Tensor


def widened(tensor: Tensor) -> Tensor:
    """Return half numbers in float32, whose squares and sums these can say; others as they are."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32)) if tensor.is_floating_point() else tensor


def power_of_two(largest: Tensor) -> Tensor:
    """Return the power of two at or below each number; 1 for 0, and for what is not finite."""
    power = largest / (2 * largest.frexp().mantissa)
    return power.where(power.isfinite() & (largest > 0), 1)


def row_powers(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
    """Return the power of two at or below each row's largest entry; 1 for a row of zeros, and for one that is not finite."""
    rows = rows.detach()
    return power_of_two(rows.abs().amax(1, keepdim=True) if rows.shape[1] else rows.new_zeros(len(rows), 1))


def in_range(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return rows in the same directions, over their powers of two."""
    return rows / row_powers(rows)


def lengths(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
    """Return each row's Euclidean length, also where the squares would leave the type's range."""
    powers = row_powers(rows)
    return powers * torch.linalg.vector_norm(rows / powers, dim=1, keepdim=True)
