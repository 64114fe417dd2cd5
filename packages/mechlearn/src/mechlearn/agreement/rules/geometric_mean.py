"""The geometric mean of environment gradients (thesis section 3.2.2, paper section 2.2)."""

from dataclasses import dataclass
from typing import ClassVar

from mechlearn.agreement.rules.base import Thresholded, mask_, masked, required_count
from mechlearn.agreement.rules.moments import Combined, Statistics, needed


@dataclass(frozen=True)
class GeometricMean(Thresholded):
    """The geometric mean of the environments' gradients where enough of them agree on the sign, 0 elsewhere.

    m * sign(mean_e g_e) * exp(mean_e log abs(g_e)) (thesis sections 3.2.2 and 3.2.3), computed in the log domain. A component
    that is 0 in any environment is 0 in the result: the thesis' limitation (ii). The published code adds 1e-10 inside the
    logarithm, which makes such a component small instead.

    Args:
        threshold: the papers' tau in [0, 1].
        rescale: multiply what survives in a parameter tensor by numel / survivors, with "root" by the square
            root of that.

    Raises:
        ValueError: threshold outside [0, 1].
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sign", "log_magnitude"})

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked geometric mean."""
        log_magnitude = needed(statistics.log_magnitude, "log_magnitude")
        magnitude = log_magnitude.div_(statistics.environments).exp_()
        survives = mask_(needed(statistics.sign, "sign"), required_count(self.threshold, statistics.environments))
        return masked(magnitude.mul_(statistics.gradient.sign_()), survives, self.rescale)
