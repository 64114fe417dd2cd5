"""Gradient sign dropout: of each component's two signs one is drawn, and the gradients that have it are kept."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Generator

from mechlearn.agreement.rules.base import Consuming
from mechlearn.agreement.rules.moments import Combined, Statistics, needed
from mechlearn.arguments import check_generator


@dataclass(frozen=True)
class GradDrop(Consuming):
    """The gradients of one sign of each component, drawn with the share of that sign; divided by E.

    P is (1 + sum_e g_e / sum_e abs(g_e)) / 2 and U is uniform in [0, 1). Where U < P, the result is the sum of the positive
    g_e over E, elsewhere it is the sum of the negative ones. Its expectation is the mean gradient. Use it to compare with
    rules that mask: it drops only what disagrees, and masks no component for good.

    Source: Chen et al. 2020, algorithm 1 without leak (https://arxiv.org/abs/2010.06808). They draw for the activations that
    tasks share, and we draw for parameters. They add over tasks, and we average, as in all rules. It reads sums of gradients
    and of magnitudes alone, so an `Agreement` forms it in one pass.

    Everything survives, as for `Mean`. Two calls draw two results. On several ranks, give each rank's generator the same seed.

    Args:
        generator: of the draws, on the parameters' device.

    Raises:
        TypeError: if there is no generator.
        ValueError: at a call, if the generator is on another device than the gradients.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import GradDrop, combine
        >>> rule = GradDrop(torch.Generator().manual_seed(0))
        >>> combine(rule, torch.tensor([[1.0, 3.0], [1.0, -1.0]])).gradient  # 3 / 4 of all draws take the 3
        tensor([ 1.0000, -0.5000])
    """

    generator: Generator = field(repr=False)  # the printed form is what ranks compare, and a generator's has an address in it
    needs: ClassVar[frozenset[str]] = frozenset({"magnitude"})

    def __post_init__(self) -> None:
        check_generator("generator", self.generator)

    def consume(self, statistics: Statistics) -> Combined:
        """Return the drawn gradient. Everything survives."""
        gradient, magnitude = statistics.gradient, needed(statistics.magnitude, "magnitude")
        check_generator("generator", self.generator, beside=gradient)
        uniform = torch.rand(gradient.shape, generator=self.generator, dtype=gradient.dtype, device=gradient.device)
        # Twice the sum of the positive ones, and of the negative ones. By rounding a sum may exceed the sum of magnitudes.
        positive, negative = (gradient + magnitude).clamp_(min=0), (gradient - magnitude).clamp_(max=0)
        drawn = torch.where(2 * uniform * magnitude < positive, positive, negative)
        survives = torch.ones((), device=gradient.device).expand(gradient.shape)
        return Combined(drawn.div_(2 * statistics.environments), survives)
