"""Random projections: a few numbers a row in which a difference between two large tensors shows almost surely.

For a matrix D and directions r_1..r_k of independent standard normal numbers, sum_j norm(D r_j)^2 / k has the expectation
norm(D)^2, and is smaller than (t norm(D))^2 with a probability of at most (e t^2)^(k / 2): 1e-11 for t = 1e-3 and k = 4
(Johnson and Lindenstrauss 1984; the bound is the lower tail of a chi-squared variable).
"""

import torch
from jaxtyping import Float
from torch import Generator, Tensor

COLUMNS = 4
"""Numbers that are kept of a row."""

_LENGTH = 2**14
"""Elements of a row that are projected at a time: bounds the directions, and the copy of a tensor in low precision."""


def sketch(tensor: Float[Tensor, "b *rest"]) -> Float[Tensor, "b k"]:
    """Project each row on the same k directions, drawn from a seed of their own; rows of at most k elements are copied.

    Two tensors of one shape and dtype are projected alike. The result has at least float32's precision, and is NaN or
    infinite where the row is.
    """
    rows = tensor.detach().flatten(1) if tensor.dim() > 1 else tensor.detach()[:, None]
    wide = torch.promote_types(rows.dtype, torch.float32)
    if rows.shape[1] <= COLUMNS:
        return rows.to(wide, copy=True)
    generator = Generator().manual_seed(0)
    projected = rows.new_zeros(len(rows), COLUMNS, dtype=wide)
    for some in rows.split(_LENGTH, dim=1):
        directions = torch.randn(some.shape[1], COLUMNS, generator=generator, dtype=wide)
        projected.addmm_(some.to(wide), directions.to(rows.device))
    return projected
