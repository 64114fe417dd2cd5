"""Cochran's test as a mask: average unless the environments are established to differ."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.rules.base import Combined, Consuming, Rescale, Statistics, check_rescale, masked, mean_, needed
from mechlearn.agreement.rules.critical import check_level, homogeneous_critical
from mechlearn.agreement.standard_errors import PLAIN, StandardErrors, check_errors


@dataclass(frozen=True)
class Homogeneous(Consuming):
    """The mean gradient, but 0 where the environments' gradients are established to differ, in sign or only in size.

    m * mean_e g_e with m = 1[ Q <= chi2(E - 1, 1 - alpha) ] and Cochran's Q = sum_e (g_e - g)^2 / s_e^2, g being the mean with
    weights 1 / s_e^2 (Cochran 1954, Biometrics 10:101). The concern is that of IGA and Fishr, who add what differs to the loss;
    the test as a mask of gradients is ours.

    It sees shortcuts that have the same sign everywhere and differ in strength, which rules of signs cannot. The other side of
    that: with very many examples every difference is established, also those that do not matter, and it masks too much;
    `Heterogeneous` asks how large they are.

    Standard errors are taken as known, as Cochran does: with few examples of an environment, or with halves in place of
    examples (`mechlearn.agreement.StandardErrors`), Q is larger than its distribution says and more is masked than the level.
    `Qualitative` is exact there.

    Args:
        alpha: the level, in [0, 1]: the share of components masked where all environments are alike; 0 is `Mean`.
        rescale: multiply what survives in a parameter tensor by numel / survivors, with "root" by the square
            root of that.
        errors: how standard errors are taken, over how many steps and how often; what an `Agreement` goes by.

    Raises:
        TypeError: an alpha that is no number, or other errors than StandardErrors.
        ValueError: alpha outside [0, 1].
    """

    alpha: float = 0.05
    rescale: Rescale = False
    errors: StandardErrors = PLAIN
    needs: ClassVar[frozenset[str]] = frozenset({"precision", "weighted", "weighted_square"})

    def __post_init__(self) -> None:
        check_level(self.alpha)
        check_rescale(self.rescale)
        check_errors(self.errors)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked mean."""
        survives = cochran(statistics) <= homogeneous_critical(statistics.environments, self.alpha)
        return masked(mean_(statistics), survives, self.rescale)


def cochran(statistics: Statistics) -> Float[Tensor, "*p"]:
    """Return Cochran's Q of every component, in float64.

    It is sum_e w_e g_e^2 - (sum_e w_e g_e)^2 / sum_e w_e with w_e = 1 / s_e^2.
    """
    precision, weighted = needed(statistics.precision, "precision"), needed(statistics.weighted, "weighted")
    explained = torch.where(precision > 0, weighted.square() / precision, 0)
    return needed(statistics.weighted_square, "weighted_square").sub(explained).clamp_(min=0)
