"""Gail and Simon's test as a mask: average unless the environments are established to pull in opposite directions."""

from dataclasses import dataclass
from typing import ClassVar, cast

import torch

from mechlearn.agreement.rules.and_mask import AndMask
from mechlearn.agreement.rules.base import Combined, Consuming, Rescale, Statistics, check_rescale, masked, mean_, needed
from mechlearn.agreement.rules.critical import check_level, qualitative_critical
from mechlearn.agreement.rules.mean import Mean
from mechlearn.agreement.standard_errors import PLAIN, StandardErrors, check_errors


class _ByLevel:
    """What a rule reads: nothing at alpha 0, signs at alpha 1, else the evidence on either side."""

    def __get__(self, rule: "Qualitative | None", kind: type) -> frozenset[str]:
        if rule is not None and rule.alpha in (0, 1):
            return AndMask.needs if rule.alpha == 1 else Mean.needs
        return frozenset({"positive", "negative"})


@dataclass(frozen=True)
class Qualitative(Consuming):
    """The mean gradient, but 0 where environments are established to want opposite signs.

    m * mean_e g_e with m = 1[ min(Q+, Q-) <= c(E, alpha) ]; Q+ is the sum of (g_e / s_e)^2 over the environments with g_e > 0,
    Q- over those with g_e < 0, and s_e the standard error of environment e's gradient, from the spread of its examples. This is
    the likelihood ratio test for a qualitative interaction of Gail and Simon 1985 (Biometrics 41:361), with their exact
    critical values (`mechlearn.agreement.rules.critical`); as a mask of gradients it is ours.

    The AND-mask keeps what the environments agree on; this rule drops what they are shown to disagree on, so that with few
    examples or no conflict it averages. alpha says where between the two: 0 is `Mean`, 1 is `AndMask(1.0)`, component by
    component the same numbers. It is the share masked in the least favourable case without conflict; where all is noise the
    share is smaller (4 % at alpha 0.2 with eight environments). Masks are taken anew at every step and component, so alpha is a
    dial and no error rate of a training run.

    A gradient of 0 is no evidence; at alpha 1 it is a disagreement, as for the AND-mask. Standard errors take two examples or
    more of every environment, but at alpha 0 and 1, which read none.

    Args:
        alpha: the level, in [0, 1].
        rescale: multiply what survives in a parameter tensor by numel / survivors, with "root" by the square
            root of that.
        errors: how standard errors are taken, over how many steps and how often; what an `Agreement` goes by.

    Raises:
        TypeError: an alpha that is no number, or other errors than StandardErrors.
        ValueError: alpha outside [0, 1].
    """

    alpha: float = 0.2
    rescale: Rescale = False
    errors: StandardErrors = PLAIN
    needs: ClassVar[frozenset[str]] = cast("frozenset[str]", _ByLevel())

    def __post_init__(self) -> None:
        check_level(self.alpha)
        check_rescale(self.rescale)
        check_errors(self.errors)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked mean."""
        if self.alpha in (0, 1):
            return self._limit().consume(statistics)
        positive, negative = needed(statistics.positive, "positive"), needed(statistics.negative, "negative")
        # Compared in the memory of floats: a tensor of truth values takes several times longer to make and to multiply with.
        survives = torch.minimum(positive, negative, out=positive).le_(
            qualitative_critical(statistics.environments, self.alpha)
        )
        return masked(mean_(statistics), survives, self.rescale)

    def _limit(self) -> Mean | AndMask:
        return AndMask(1.0, self.rescale) if self.alpha == 1 else Mean()
