"""Random effects as a mask: average unless the environments differ by more than they say together."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.agreement.rules.base import Combined, Consuming, Rescale, Statistics, check_rescale, masked, mean_, needed
from mechlearn.agreement.standard_errors import PLAIN, StandardErrors, check_errors
from mechlearn.arguments import check_not_negative, check_one_of


@dataclass(frozen=True)
class Heterogeneous(Consuming):
    """The mean gradient, but 0 where environments differ significantly *and* by more than their mean is.

    With B the variance of g_e over environments (divided by E - 1), W the mean of s_e^2, T = B - W what environments differ by
    beyond noise and S = (mean_e g_e)^2 - B / E what they have in common, a component is masked where

        B / W > 1 + significance * sqrt(2 / (E - 1))   and   T > ratio * S.

    T > S says that at a new environment the sign differs from the mean's with a probability above 16 %: the random effects of
    meta-analysis (DerSimonian and Laird 1986; Hedges 1983 for the unweighted estimate; Higgins and Thompson 2002 for
    H^2 = B / W) as a mask of gradients, which is ours. A component that differs a little with great significance is kept.

    Args:
        by: "component" decides each by itself; "unit" sums T, S, B and W over the weights of a unit (all dimensions but the
            first) and "input" over those that read one input feature (the first dimension and those after the second), and
            masks them together: what is thinly spread over many is found, what sits in a single weight is not. Parameters of
            fewer than two dimensions have neither and go by component.
        significance: standard deviations of B / W above 1.
        ratio: of T to S above which a component is masked; 1 as above, 0 masks whatever differs significantly.
        rescale: multiply what survives in a parameter tensor by numel / survivors, with "root" by the square
            root of that.
        errors: how standard errors are taken, over how many steps and how often; what an `Agreement` goes by.

    Raises:
        TypeError, ValueError: an unknown choice of ``by``, a negative number, or other errors than StandardErrors.
    """

    by: str = "component"
    significance: float = 1.64
    ratio: float = 1.0
    rescale: Rescale = False
    errors: StandardErrors = PLAIN
    needs: ClassVar[frozenset[str]] = frozenset({"square", "variance"})

    def __post_init__(self) -> None:
        check_one_of("by", self.by, ("component", "unit", "input"))
        check_not_negative("significance", self.significance, way_out="1.64 leaves 5 % of what is alike in doubt.")
        check_not_negative("ratio", self.ratio, way_out="1 asks for more difference than there is in common.")
        check_rescale(self.rescale)
        check_errors(self.errors)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked mean."""
        survives = ~self._differs(statistics)
        return masked(mean_(statistics), survives.expand(statistics.gradient.shape).contiguous(), self.rescale)

    def _differs(self, statistics: Statistics) -> Bool[Tensor, "*p"]:
        count = statistics.environments
        if count == 1:
            return torch.zeros_like(statistics.gradient, dtype=torch.bool)
        between, within, common = (self._summed(part) for part in effects(statistics))
        bound = 1 + self.significance * math.sqrt(2 / (count - 1))
        return (between > bound * within) & (between - within > self.ratio * common)

    def _summed(self, values: Float[Tensor, "*p"]) -> Float[Tensor, "*_"]:
        """Sum what is decided together; dimensions stay, of size 1."""
        if self.by == "component" or values.dim() < 2:
            return values
        kept = 0 if self.by == "unit" else 1
        return values.sum([d for d in range(values.dim()) if d != kept], keepdim=True)


def effects(statistics: Statistics) -> tuple[Tensor, Tensor, Tensor]:
    """Return B, W and S of every component, in float64: variance between environments and within, and what is in common."""
    count = statistics.environments
    mean = statistics.gradient.double() / count
    square = needed(statistics.square, "square").double()
    between = square.addcmul(mean, mean, value=-count).clamp_(min=0) / (count - 1)
    within = needed(statistics.variance, "variance").double() / count
    return between, within, mean.square() - between / count
