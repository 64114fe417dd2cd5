"""The XOR-mask (thesis figure 3.7, left)."""

from dataclasses import dataclass
from typing import ClassVar

from mechlearn.agreement.rules.base import Thresholded, mask_, masked, mean_, required_count
from mechlearn.agreement.rules.moments import Combined, Statistics, needed


@dataclass(frozen=True)
class XorMask(Thresholded):
    """The XOR-mask: (1 - m) * mean_e g_e, keeps only what the environments disagree on (figure 3.7, left).

    Args:
        threshold: the papers' tau in [0, 1]; 0 leaves nothing.
        rescale: multiply what survives in a parameter tensor by numel / survivors, with "root" by the square
            root of that.

    Raises:
        ValueError: threshold outside [0, 1].
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sign"})

    def consume(self, statistics: Statistics) -> Combined:
        """Return the mean gradient of the components that the AND-mask would remove."""
        count = required_count(self.threshold, statistics.environments)
        disagrees = mask_(needed(statistics.sign, "sign"), count).mul_(-1).add_(1)
        return masked(mean_(statistics), disagrees, self.rescale)
