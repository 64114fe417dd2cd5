"""The masks of a step: made by the rule, or kept from the step before where they are decided only every so often."""

import torch
from torch import Tensor

from craik.agreement.onepass.combining import combine_sums
from craik.agreement.onepass.sums import RunningSums
from craik.agreement.rules import Rule, count_survivors
from craik.environments import check_finite_sums


class Masks:
    """Which components the rule lets through, from step to step.

    Args:
        every: they are decided at the first of so many steps, and hold for the others.
        keep: hand them over at the end of a step.
    """

    def __init__(self, every: int, keep: bool) -> None:
        self._every, self._keep = every, keep
        self._step = 0
        self._held: dict[str, Tensor] = {}
        self._rule: Rule | None = None

    @property
    def needs(self) -> frozenset[str]:
        """What the rule reads in this step: nothing where masks are at hand."""
        if self._rule is None:
            raise RuntimeError("the step has no rule yet")
        return self._rule.needs if self._decides else frozenset()

    @property
    def _decides(self) -> bool:
        return self._step % self._every == 0

    def of_step(self, rule: Rule) -> "Masks":
        """Say which rule the step has; another one than before decides at once."""
        if rule != self._rule:
            self._rule, self._step = rule, 0
        return self

    def apply(self, name: str, sums: RunningSums, refuse_nonfinite: bool) -> tuple[Tensor, Tensor]:
        """Return a parameter's combined gradient and how many of its components survive; the sums are used up.

        A parameter that was not reached when masks were decided is averaged until they are decided again.
        """
        assert self._rule is not None  # of_step has set it
        if self._decides:
            wanted = self._keep or self._every > 1
            gradient, survivors, mask = combine_sums(self._rule, name, sums, refuse_nonfinite, wanted)
            if mask is not None:
                self._held[name] = mask
            return gradient, survivors
        mean = sums.statistics().gradient.div_(sums.environments)
        if refuse_nonfinite:
            check_finite_sums(name, mean)
        mask = self._held.setdefault(name, torch.ones_like(mean, dtype=torch.bool))
        # What is not finite stays so where a GradScaler is to find it: 0 times infinity is NaN.
        return mean.mul_(mask), count_survivors(mask)

    def close(self) -> dict[str, Tensor] | None:
        """End the step and return its masks, where they are to be kept."""
        self._step += 1
        found = dict(self._held) if self._keep else None
        if self._decides:
            self._held = {}
        return found
