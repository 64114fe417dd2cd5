"""The AND-mask (thesis section 3.2.3, paper section 2.3)."""

from dataclasses import dataclass
from typing import ClassVar

from mechlearn.agreement.rules.base import Thresholded, mask_, required_count, rescaled, slices
from mechlearn.agreement.rules.moments import Combined, Statistics, needed


@dataclass(frozen=True)
class AndMask(Thresholded):
    """The AND-mask: the mean gradient where enough environments agree on its sign, 0 elsewhere.

    m * mean_e g_e with m = 1[ abs(mean_e sign g_e) >= threshold ] (thesis section 3.2.3).

    Args:
        threshold: the papers' tau in [0, 1]; 0 is plain averaging, 1 asks for full agreement.
        rescale: multiply what survives in a parameter tensor by numel / survivors (an option of thesis appendix B.2.3.1), with
            "root" by the square root of that: for large layers, of which few components survive.

    Raises:
        TypeError, ValueError: a threshold outside [0, 1], another way to rescale.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import Agreement, AndMask
        >>> agreement = Agreement(torch.nn.Linear(2, 1), AndMask(threshold=0.6))  # of five sites four must agree: (4 - 1) / 5
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sign"})

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked mean."""
        count = required_count(self.threshold, statistics.environments)
        sign = needed(statistics.sign, "sign")
        for gradient, signs in slices(statistics.gradient, sign):
            # What a slice goes through it goes through in cache. Bytes are converted, as a product with them is slow.
            mask = mask_(signs, count)
            gradient.div_(statistics.environments).mul_(mask if mask.dtype == gradient.dtype else mask.to(gradient.dtype))
        gradient = rescaled(statistics.gradient, sign, self.rescale) if self.rescale else statistics.gradient
        return Combined(gradient, sign)
