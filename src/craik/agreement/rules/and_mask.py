"""The AND-mask (thesis section 3.2.3, paper section 2.3)."""

from dataclasses import dataclass
from typing import ClassVar

from craik.agreement.rules.base import (
    Combined,
    Consuming,
    Statistics,
    check_threshold,
    mask_,
    masked,
    mean_,
    needed,
    required_count,
)


@dataclass(frozen=True)
class AndMask(Consuming):
    """The AND-mask: the mean gradient where enough environments agree on its sign, 0 elsewhere.

    m * mean_e g_e with m = 1[ abs(mean_e sign g_e) >= threshold ] (thesis section 3.2.3).

    Args:
        threshold: the papers' tau in [0, 1]; 0 is plain averaging, 1 asks for full agreement.
        rescale: multiply what survives in a parameter tensor by numel / survivors (an option of thesis appendix B.2.3.1).

    Raises:
        ValueError: threshold outside [0, 1].
    """

    threshold: float = 1.0
    rescale: bool = False
    needs: ClassVar[frozenset[str]] = frozenset({"sign"})

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the masked mean."""
        count = required_count(self.threshold, statistics.environments)
        survives = mask_(needed(statistics.sign, "sign"), count)
        return masked(mean_(statistics), survives, self.rescale)
