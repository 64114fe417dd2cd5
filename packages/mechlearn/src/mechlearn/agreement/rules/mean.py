"""Plain averaging of environments."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from mechlearn.agreement.rules.base import Consuming, mean_
from mechlearn.agreement.rules.moments import Combined, Statistics


@dataclass(frozen=True)
class Mean(Consuming):
    """The arithmetic mean, mean_e g_e: plain averaging of environments, the papers' logical OR.

    Every environment counts the same however many examples it has; with equal sizes it is ordinary backpropagation.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    def consume(self, statistics: Statistics) -> Combined:
        """Return the mean gradient; everything survives."""
        return Combined(mean_(statistics), torch.ones((), device=statistics.gradient.device).expand(statistics.gradient.shape))
