"""What an environment's gradient and its clusters' squares say: sums over clusters, evidence and inverse variances.

Index conventions: k a cluster, e an environment, c adjacent ones of either.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.variance.scratch import MOST, Room
from mechlearn.agreement.kernels.compiled import Compiled

WEIGHTS = frozenset({"precision", "weighted", "weighted_square", "variance"})
"""Statistics that take the standard errors themselves, in float64."""

SIDES = frozenset({"positive", "negative"})
"""Statistics that take evidence alone."""


def moments(
    contributions: Float[Tensor, "e k *p"], weights: Sequence[float], room: Room, compiled: Compiled | None = None
) -> tuple[Float[Tensor, "e *p"], Float[Tensor, "e *p"]]:
    """Return sum_k h_k and sum_k w_k h_k^2; squares of some environments at a time are in memory that is used again."""
    alike = min(weights) == max(weights)
    if alike and compiled is not None and compiled.takes(contributions):
        gradients, squares = compiled.moments(contributions)
        return gradients, squares.mul_(weights[0])
    at_once = max(1, MOST // max(1, contributions[0].numel()))
    scratch = room.of("squares", contributions[:at_once].shape, contributions)
    gradients, squares = (contributions.new_empty(len(contributions), *contributions.shape[2:]) for _ in range(2))
    for first in range(0, len(contributions), at_once):
        some = contributions[first : first + at_once]
        squared = torch.mul(some, some, out=scratch[: len(some)])
        torch.sum(some, 1, out=gradients[first : first + at_once])
        if alike:
            torch.sum(squared, 1, out=squares[first : first + at_once])
        else:
            squares[first : first + at_once] = _weighed(squared, weights)
    return gradients, squares.mul_(weights[0]) if alike else squares


def _weighed(contributions: Float[Tensor, "e k *p"], weights: Sequence[float]) -> Float[Tensor, "e *p"]:
    """Return sum_k w_k h_k."""
    count, clusters = contributions.shape[:2]
    if clusters < FEW or contributions.numel() == 0:
        total = contributions[:, 0] * weights[0]
        for k in range(1, clusters):
            total.add_(contributions[:, k], alpha=weights[k])
        return total
    row = contributions.new_tensor(weights).expand(count, 1, -1)
    return torch.bmm(row, contributions.flatten(2)).view(count, *contributions.shape[2:])


FEW = 4
"""Fewer clusters than this are added one by one."""


def squared_error(gradients: Tensor, squares: Tensor, degrees: int | float) -> Tensor:
    """Return s^2 = (M - g^2) / (K - 1), at least 0: a difference, of which rounding is all that is left where z^2 is 10^7."""
    return squares.addcmul(gradients, gradients, value=-1).clamp_(min=0).div_(degrees)


def add_evidence(gradients: Tensor, squares: Tensor, degrees: int | float, into: dict[str, Tensor]) -> None:
    """Add the evidence of c environments; ``squares`` is overwritten.

    As 1 + t^2 / v = M / (M - g^2), evidence is a function of g^2 / M: nothing is subtracted but from 1.
    """
    if into.keys() & WEIGHTS:
        _add_weights(gradients, squares, degrees, into)
    if not into.keys() & SIDES:
        return
    limits = torch.finfo(gradients.dtype)
    share = gradients.square().div_(squares.clamp_(min=limits.tiny)).clamp_(max=1 - 8 * limits.eps)
    deviates, factor = normal_deviates(share, degrees)
    signed = deviates.copysign_(gradients)
    if "positive" in into:
        into["positive"].add_(_total(signed.clamp(min=0)), alpha=factor)
    if "negative" in into:
        into["negative"].sub_(_total(signed.clamp_(max=0)), alpha=factor)


def normal_deviates(share: Tensor, degrees: int | float) -> tuple[Tensor, float]:
    """Return squared normal deviates of Student's t from g^2 / M = t^2 / (t^2 + v), but for a factor and sign; overwrites.

    The tail of t has a closed form for one and two degrees of freedom, of which halves have one; from three on Wallace's
    approximation is within 1.5 % of z.
    """
    if degrees in (1, 2):
        root = share.sqrt_()
        inner = root.asin_().mul_(2 / math.pi) if degrees == 1 else root
        return inner.clamp_(max=1 - torch.finfo(share.dtype).eps).erfinv_().square_(), 2.0
    return share.neg_().log1p_(), wallace(degrees)


def wallace(degrees: int | float) -> float:
    """Return the factor of -log(1 - g^2 / M) in z^2 by so many degrees of freedom."""
    return degrees * ((8 * degrees + 1) / (8 * degrees + 3)) ** 2


def _add_weights(gradients: Tensor, squares: Tensor, degrees: int | float, into: dict[str, Tensor]) -> None:
    g = gradients.double()
    floor = 8 * torch.finfo(gradients.dtype).eps * g.square()  # no more than what rounding leaves of the difference
    variance = torch.maximum(squares.double().addcmul(g, g, value=-1), floor).div_(degrees)
    if "variance" in into:
        into["variance"].add_(_total(variance))
    if into.keys() & {"precision", "weighted", "weighted_square"}:
        precision = torch.where(variance > 0, variance.reciprocal(), 0)
        parts = {"precision": precision, "weighted": precision * g, "weighted_square": precision * g * g}
        for name, part in parts.items():
            if name in into:
                into[name].add_(_total(part))


def _total(values: Float[Tensor, "c *p"]) -> Float[Tensor, "*p"]:
    return values[0] if len(values) == 1 else values.sum(0)
