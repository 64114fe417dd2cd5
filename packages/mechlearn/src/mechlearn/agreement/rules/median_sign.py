"""The sign of the median environment."""

from dataclasses import dataclass
from typing import ClassVar

from mechlearn.agreement.rules.base import Consuming, check_threshold, mask_, required_count
from mechlearn.agreement.rules.moments import Combined, Statistics, needed


@dataclass(frozen=True)
class MedianSign(Consuming):
    """The sign that the majority of the environments gives a component: every environment has one vote, whatever its size.

    1[ abs(sum_e sign g_e) >= max(1, threshold E) ] * sign(sum_e sign g_e), the majority vote of signSGD (Bernstein et al. 2019,
    [arXiv:1810.05291](https://arxiv.org/abs/1810.05291)), here over environments and with a threshold. Where no gradient is
    0 this is the sign of the component's median over environments, with the middle pair of an even number averaged only
    where it has one sign, and a tie, which is 0. Gradients of 0 do not vote, whereas they would drag a median to 0.

    The result is -1, 0 or 1: magnitudes are lost, as one environment's outlier would be, and the learning rate alone decides
    how far a step goes.

    Args:
        threshold: the papers' tau in [0, 1]; 0 asks for a majority of one vote, 1 for all votes.

    Raises:
        ValueError: threshold outside [0, 1].
    """

    threshold: float = 0.0
    needs: ClassVar[frozenset[str]] = frozenset({"sign"})

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the majority's sign; ties do not survive."""
        sign = needed(statistics.sign, "sign")
        vote = sign.sign().to(statistics.gradient.dtype)
        survives = mask_(sign, max(1, required_count(self.threshold, statistics.environments)))
        return Combined(vote.mul_(survives), survives)
