"""The SAND-mask: agreement as a weight between 0 and 1 that also asks magnitudes to agree."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from mechlearn.agreement.rules.base import Consuming, check_threshold, mean_, required_count
from mechlearn.agreement.rules.moments import Combined, Statistics, needed
from mechlearn.arguments import check_flag, check_positive


@dataclass(frozen=True)
class SandMask(Consuming):
    """The mean gradient times a weight that grows with the agreement of signs and falls with the variance of magnitudes.

    w * mean_e g_e with w = max(0, tanh(k / var_e(g_e) * (abs(mean_e sign g_e) - threshold))), the "smoothed AND" of
    Shahtalebi et al. 2021 ([arXiv:2106.02266](https://arxiv.org/abs/2106.02266)) as their code and DomainBed's compute it. The
    variance is in the gradients' own units, so unlike the other rules this one reacts to their scale, and ``k`` must suit it.
    Where all environments have the same gradient the variance is 0 and w is 1.

    The variance is taken from running sums, as mean of squares less square of mean: below about 1e-7 (float32) of the squared
    mean it is rounding.

    Args:
        threshold: the papers' tau in [0, 1); at and below it nothing survives.
        k: steepness, above 0. DomainBed's default is 10 and its search goes from 1e-3 to 1e5.
        unbiased: divide the variance by E - 1, as the published code does, instead of by E. Counting every environment twice
            then changes the result.
        rescale: divide by the mean of w over the parameter tensor, as the published code always does.

    Raises:
        ValueError: threshold outside [0, 1], or a k that is not positive and finite.
    """

    threshold: float = 0.5
    k: float = 10.0
    unbiased: bool = False
    rescale: bool = False
    needs: ClassVar[frozenset[str]] = frozenset({"sign", "square"})

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        check_positive("k", self.k, way_out="DomainBed's default is 10.")
        check_flag("unbiased", self.unbiased)
        check_flag("rescale", self.rescale)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the weighted mean; a component survives where its weight is above 0."""
        count, dtype = statistics.environments, statistics.gradient.dtype
        mean = mean_(statistics)
        variance = needed(statistics.square, "square").div_(count)
        variance.addcmul_(mean.to(variance.dtype), mean.to(variance.dtype), value=-1).clamp_(min=0)
        if self.unbiased and count > 1:
            variance.mul_(count / (count - 1))
        sign = needed(statistics.sign, "sign").abs_()
        least = required_count(self.threshold, count)
        # Decided on integers, as for the AND-mask; at the threshold itself the weight is 0.
        survives = sign > least if least / count == self.threshold else sign >= least
        # The excess is kept above 0, so that a variance of 0 makes the weight 1 and never NaN.
        excess = (sign.to(variance.dtype) / count).sub_(self.threshold).clamp_(min=torch.finfo(variance.dtype).tiny)
        weight = excess.mul_(self.k).div_(variance).tanh_().where(survives, 0).to(dtype)
        combined = mean.mul_(weight)
        if self.rescale and bool(survives.any()):
            combined.div_(weight.mean())
        return Combined(combined, survives)
