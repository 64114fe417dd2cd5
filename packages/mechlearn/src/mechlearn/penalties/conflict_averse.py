"""CAGrad: near the mean gradient, the direction that helps the worst environment most (Liu et al. 2021)."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_all_finite, check_data, check_decay, check_floats
from mechlearn.scaling import row_powers

_MOST = 10_000
"""Moves of the search at most. Random gradients of 64 environments take some hundreds."""


def cagrad(gradients: Float[Tensor, "..."], c: float = 0.5) -> Float[Tensor, " p"]:
    """Return the d that maximises min_e g_e d among those with norm(d - g_0) <= c norm(g_0), g_0 being the mean gradient.

    With g_w the sum of w_e g_e, it searches for the weights w of environments that minimise g_w g_0 + c norm(g_0) norm(g_w).
    Then d is g_0 + c norm(g_0) g_w / norm(g_w). The search reads products of gradients alone. It moves weight between two
    environments at a time, with exact steps, until the duality gap is below 1e-10 of norm(g_0)^2, or for
    10,000 moves. Use `mechlearn.agreement.torchjd.aggregate` to train with it.

    Source: Liu et al. 2021, algorithm 1 (https://arxiv.org/abs/2110.14048). Their code also divides d by 1 + c^2.

    Args:
        gradients: (E, P), one environment's gradient a row.
        c: how far d may be from the mean gradient, as a share of its norm, in [0, 1). 0 is averaging.

    Raises:
        TypeError: if gradients are not floats, or c is not a number.
        ValueError: if gradients are not a matrix, have no rows or columns or are not finite, or c is out of its range.

    Example:
        >>> import torch
        >>> from mechlearn.penalties import cagrad
        >>> cagrad(torch.tensor([[4.0, 0.0], [-2.0, 1.0]]), c=0.9)  # the mean, (1, 0.5), would harm the second
        tensor([0.1807, 1.0842])
    """
    check_floats("gradients", gradients, "E", "P", way_out="Put one environment's gradient in each row.")
    check_data("gradients", gradients)
    check_all_finite("gradients", gradients, way_out="Lower the learning rate, or skip the step.")
    check_decay("c", c, why="the share of the mean gradient's norm that d may differ by", way_out="0.5 is usual.")
    # Rows over powers of two, which round nothing: whatever their lengths, products of two are within float32.
    rows = gradients.to(torch.promote_types(gradients.dtype, torch.float32))
    powers = row_powers(rows)
    rows = rows / powers
    scales = (powers / powers.max()).to("cpu", torch.float64)
    gram = (rows @ rows.T).to("cpu", torch.float64) * scales * scales.T
    weights = torch.from_numpy(_weights(gram.numpy(), float(c)))
    return ((powers.to(weights) * weights[:, None]).sum(1).to(rows) @ rows).to(gradients.dtype)


def _weights(gram: np.ndarray, c: float) -> np.ndarray:
    """Return d's weight of each gradient, from the products of any two."""
    mean = np.full(len(gram), 1 / len(gram))
    along, square = gram @ mean, float(mean @ gram @ mean)
    if square <= 0 or c == 0:
        return mean
    radius, floor = c * square**0.5, 1e-12 * square  # the floor smooths the norm where g_w is 0
    weights = mean.copy()
    for _ in range(_MOST):
        product = gram @ weights
        length = (max(float(weights @ product), 0.0) + floor) ** 0.5
        slope = along + radius * product / length
        i, j = int(slope.argmin()), int(np.where(weights > 0, slope, -np.inf).argmax())
        if slope[j] - slope[i] <= 1e-10 * square:
            break
        step = min(_step(gram, (i, j), product, length, (along[i] - along[j]) / radius), weights[j])
        if step <= 0:
            break
        weights[i] += step
        weights[j] = 0.0 if step == weights[j] else weights[j] - step
    product = gram @ weights
    return mean + radius * weights / (max(float(weights @ product), 0.0) + floor) ** 0.5


def _step(gram: np.ndarray, pair: tuple[int, int], product: np.ndarray, length: float, slope: float) -> float:
    """Return where slope * t + norm(g_w + t (g_i - g_j)) is smallest, or infinity if it falls for ever."""
    i, j = pair
    square, half = gram[i, i] + gram[j, j] - 2 * gram[i, j], product[i] - product[j]
    if square <= slope * slope:
        return float("inf")
    apart = max(square * length**2 - half**2, 0.0)
    return (-slope * (apart / (square - slope * slope)) ** 0.5 - half) / square
