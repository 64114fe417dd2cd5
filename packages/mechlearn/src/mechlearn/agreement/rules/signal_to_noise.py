"""A mask by the ratio of signal to noise, which the paper suggests in a footnote and leaves open."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mechlearn.agreement.rules.base import Consuming, Rescale, check_rescale, masked, mean_
from mechlearn.agreement.rules.moments import Combined, Statistics, needed
from mechlearn.arguments import check_not_negative


@dataclass(frozen=True)
class SignalToNoiseMask(Consuming):
    """The mean gradient where it stands out from its spread over the environments, 0 elsewhere.

    1[ abs(mean_e g_e) >= ratio * std_e(g_e) ] * mean_e g_e, with the standard deviation of the E environments (divided by
    E). The paper's footnote 10 names the signal-to-noise ratio as another way to ask for agreement and gives no formula;
    this one is ours. Unlike the AND-mask it sees magnitudes: one environment far from the others is noise even with their
    sign.

    Where all magnitudes are equal it is the AND-mask of threshold ratio / sqrt(1 + ratio^2).

    Args:
        ratio: signal over noise that a component needs, at least 0; 0 is plain averaging.
        rescale: multiply what survives in a parameter tensor by numel / survivors, with "root" by the square
            root of that.

    Raises:
        ValueError: a ratio that is negative, infinite or NaN.
        FloatingPointError: at a call, gradients whose squares no number can hold: in float64 below 1e-146 or above 1e154.
    """

    ratio: float = 1.0
    rescale: Rescale = False
    needs: ClassVar[frozenset[str]] = frozenset({"square"})

    def __post_init__(self) -> None:
        way_out = "0 is plain averaging, 1 asks for a mean as large as the standard deviation."
        check_not_negative("ratio", self.ratio, way_out=way_out)
        check_rescale(self.rescale)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked mean; where every environment's gradient is 0 nothing survives a ratio above 0."""
        # mean^2 >= r^2 (mean of squares - mean^2), put so that nothing is subtracted: rounding would swallow a small variance.
        square = needed(statistics.square, "square")
        share = self.ratio / math.hypot(1.0, self.ratio)
        if self.ratio > 0:
            _check_range(square, statistics.gradient)
        survives = statistics.gradient.abs() >= square.mul_(statistics.environments).sqrt_().mul_(share)
        if self.ratio > 0:
            survives &= statistics.gradient != 0
        return masked(mean_(statistics), survives, self.rescale)


def _check_range(square: Tensor, gradient: Tensor) -> None:
    """Reject squares that have left the range of their type; those of float32's numbers are within float64's."""
    if square.dtype == gradient.dtype and square.numel():
        # Below this the square has lost digits, and with them the ratio.
        least = torch.finfo(square.dtype).tiny / torch.finfo(square.dtype).eps
        lost = ((square < least) & (gradient != 0)) | (torch.isinf(square) & torch.isfinite(gradient))
        if bool(lost.any()):
            raise FloatingPointError(
                f"The squares of gradients should be within the range of {square.dtype}. Found a sum of gradients of "
                f"{float(gradient[lost][0])}. Scale the losses; a rule that reads signs does not mind."
            )
