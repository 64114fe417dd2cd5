"""Gradient agreement filtering: average the gradients that agree, one after the other (Chaubard et al. 2024)."""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_all_finite, check_data, check_floats, check_not_negative


def gaf(gradients: Float[Tensor, "..."], threshold: float = 1.0) -> Float[Tensor, " p"]:
    """Return the running mean of the gradients within a cosine distance of it, or zeros if no two agree.

    It begins with the first gradient. If 1 - cosine is at most the threshold, the mean becomes half of itself and half of the
    next gradient. Else that gradient is left out. So the order counts, and the last gradient most: shuffle the rows. If a
    gradient is 0, the cosine is 0. Use `mechlearn.agreement.torchjd.aggregate` to
    train with it.

    Source: Chaubard et al. 2024 (https://arxiv.org/abs/2412.18052), as their published code computes it. It skips the
    optimizer's step where no two agree. Zeros leave momentum and weight decay at work.

    Args:
        gradients: (E, P), one environment's or micro-batch's gradient a row.
        threshold: the paper's tau, the largest cosine distance that agrees, in [0, 2]. 1 asks for an angle of at most 90
            degrees, 2 takes all.

    Raises:
        TypeError: if gradients are not floats, or the threshold is not a number.
        ValueError: if gradients are not a matrix, have no rows or columns or are not finite, or the threshold is out of its
            range.

    Example:
        >>> import torch
        >>> from mechlearn.penalties import gaf
        >>> gaf(torch.tensor([[1.0, 0.0], [1.0, 2.0], [-3.0, 0.0]]))
        tensor([1., 1.])
    """
    check_floats("gradients", gradients, "E", "P", way_out="Put one gradient in each row.")
    check_data("gradients", gradients)
    check_all_finite("gradients", gradients, way_out="Lower the learning rate, or skip the step.")
    check_not_negative("threshold", threshold, way_out="1 is usual.")
    if threshold > 2:
        raise ValueError(f"`threshold` should be at most 2, the largest cosine distance. Found {threshold}. 1 is usual.")
    first, *others = gradients
    mean, agreed = first.double(), False
    for other in map(Tensor.double, others):
        lengths = mean.norm() * other.norm()
        if 1 - mean @ other / lengths.where(lengths > 0, 1) <= threshold:
            mean, agreed = (mean + other) / 2, True
    return mean.to(gradients.dtype) if agreed else torch.zeros_like(first)
