"""The masks of a step: made by the rule, or kept from the step before where they are decided only every so often."""

from collections.abc import Iterable

import torch
from torch import Tensor

from mechlearn.agreement.engine.combining import combine_and_keep
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.rules import Rule, count_survivors
from mechlearn.agreement.rules.base import masked
from mechlearn.environments import check_finite_sums


class Masks:
    """Which components a rule lets through, from step to step.

    Args:
        rule: whose they are.
        every: they are decided at the first of so many steps, and hold for the others.
        keep: hand them over at the end of a step.

    Attributes:
        step: how many steps were taken.
        held: the present masks by parameter name, of those that are kept or wanted.
    """

    def __init__(self, rule: Rule, every: int, keep: bool) -> None:
        self.rule, self._every, self._keep = rule, every, keep
        self.step = 0
        self.held: dict[str, Tensor] = {}

    @property
    def needs(self) -> frozenset[str]:
        """What the rule reads in this step: nothing where masks are at hand."""
        return frozenset(self.rule.needs) if self.decides else frozenset()

    @property
    def decides(self) -> bool:
        """Whether this step decides masks."""
        return self.step % self._every == 0

    @property
    def wanted(self) -> bool:
        """Whether a parameter's mask is wanted beside its gradient."""
        return self._keep or self._every > 1

    def begin(self) -> None:
        """Begin a step: one that decides masks knows of no earlier ones, such as those of a step that failed."""
        if self.decides:
            self.held = {}

    def apply(self, name: str, sums: RunningSums, refuse_nonfinite: bool) -> tuple[Tensor, Tensor]:
        """Return a parameter's combined gradient and how many of its components survive; the sums are used up.

        A parameter that was not reached when masks were decided is averaged until they are decided again. What survives is
        rescaled by a rule that rescales, whether its masks are new or kept.
        """
        if self.decides:
            gradient, survivors, self.held[name] = combine_and_keep(self.rule, name, sums, refuse_nonfinite)
            return gradient, survivors
        mean = sums.statistics().gradient.div_(sums.environments)
        if refuse_nonfinite:
            check_finite_sums(name, mean)
        mask = self.held.setdefault(name, torch.ones_like(mean, dtype=torch.bool))
        gradient, _ = masked(mean, mask, getattr(self.rule, "rescale", False))  # 0 times infinity is NaN: a GradScaler finds it
        return gradient, count_survivors(mask)

    def go_on(self, step: int, held: dict[str, Tensor]) -> None:
        """Go on behind so many steps, with the masks that were held then."""
        self.step, self.held = step, held

    def close(self, reached: Iterable[str]) -> dict[str, Tensor] | None:
        """End the step and return the masks of the parameters that it reached, where they are to be kept."""
        self.step += 1
        return {name: self.held[name] for name in reached} if self._keep else None
