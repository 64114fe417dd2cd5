"""A trusted gradient, and second ones added where they have its sign."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch

from mechlearn.agreement.rules.base import slices
from mechlearn.agreement.rules.moments import EACH, Combined, Statistics, needed
from mechlearn.arguments import Choice, check_not_negative

SHOWN = 5
"""Ids that an error names at most."""


@dataclass(frozen=True)
class Anchored(Choice):
    """Add second gradients to a trusted one where they have its sign: g_a + weight * sum_e g_e 1[g_a g_e > 0].

    Use it for a second loss that may hurt: an auxiliary task, a teacher that sees the solution. Give each loss rows and an
    environment id of its own. It is not safe if the second loss is worthless: train the anchor alone as well, and choose on
    held-out data (`mechlearn.distill.Fork`).

    A parameter that the trusted loss does not reach gets 0, so train an auxiliary head on its own loss besides.

    The rule reads whole gradients. An `Agreement` holds one per environment until the step, so a loss may come in several
    calls and on several ranks. `Record.share` is the share of components where a second gradient is added.

    Du et al. (2018, https://arxiv.org/abs/1812.02224) decide by the cosine of whole gradients, PCGrad (Yu et al. 2020,
    https://arxiv.org/abs/2001.06782) projects, GradDrop (Chen et al. 2020, https://arxiv.org/abs/2010.06808) draws a sign.

    Args:
        anchor: the environment id of the trusted loss; for `mechlearn.agreement.combine` its row.
        weight: of the second gradients, at least 0; 0 trains the anchor alone.

    Raises:
        TypeError: if the anchor is not hashable, or the weight is not a number.
        ValueError: if the weight is negative.
    """

    anchor: object = 0
    weight: float = 0.3
    needs: ClassVar[frozenset[str]] = EACH

    def __post_init__(self) -> None:
        try:
            hash(self.anchor)
        except TypeError:
            raise TypeError(
                f"`anchor` should be an environment id. Found {self.anchor!r}, which is not hashable. Pass the id of the "
                "trusted loss, such as 0."
            ) from None
        check_not_negative("weight", self.weight, way_out="0.3 is the default, 0 trains the anchor alone.")

    def __call__(self, statistics: Statistics) -> Combined:
        """Return the sum, and where a second gradient is part of it."""
        anchor, *seconds = needed(statistics.each, "each")
        gradient, survives = torch.zeros_like(anchor), torch.zeros_like(anchor, dtype=torch.bool)
        for trusted, *others, total, added in slices(anchor, *seconds, gradient, survives):
            for other in others:
                agrees = ((trusted > 0) & (other > 0)) | ((trusted < 0) & (other < 0))
                total.add_(torch.where(agrees, other, 0))
                added.logical_or_(agrees)
            total.mul_(self.weight).add_(trusted)
        return Combined(gradient, survives)

    def check(self, there: bool, names: Iterable[object] = ()) -> None:
        """Raise an error for a step without the anchor.

        Args:
            there: whether it is there.
            names: of the step's environments, where they are known.

        Raises:
            ValueError: if it is not there.
        """
        if not there:
            listed = ", ".join(map(repr, list(names)[:SHOWN]))
            raise ValueError(
                f"`anchor` should be an environment of the step. Found no example of {self.anchor!r}"
                f"{f' among the ids {listed}' if listed else ''}. Pass the trusted loss with that id in each step."
            )
