"""`Unrolling`: how far the teacher looks ahead, along which steps, and what becomes of the gradient that it finds."""

from dataclasses import dataclass, field

import torch

from mechlearn import arguments
from mechlearn.distill.optimisers.counterparts import inner_from, rule_of
from mechlearn.distill.optimisers.inner import Inner
from mechlearn.distill.strategies import Strategy, Unroll, check_strategy

MOMENTS = ("fresh", "student")
NONFINITE = ("raise", "skip", "zero")


@dataclass(frozen=True)
class Unrolling(arguments.Choice):
    """The meta-steps of `mechlearn.distill.Distillation`.

    Attributes:
        inner: the inner optimiser, see `mechlearn.distill.meta_gradient`; "student" takes the differentiable counterpart of the
            student's optimiser, read again at every meta-step, as a scheduler may have moved its learning rate.
        steps: n, the length of an unroll.
        batch_size: examples of an inner step, and of the student's ordinary ones.
        moments: "fresh" starts every unroll with new inner moments; "student" with those of the student's optimiser.
        validation_size: validation examples of a meta-step, drawn again; None takes all.
        strategy: how to differentiate, see `mechlearn.distill.meta_gradient`.
        clip: components of the meta-gradient are clipped to [-clip, clip]; None leaves them.
        nonfinite: what a meta-step does if components of the meta-gradient are NaN or infinite: "raise", "skip" the teacher's
            step, or set them to "zero" (the published code). They are counted in any case. An unroll that diverges
            counts as a meta-gradient of NaN alone; a population of several students refuses it.

    Raises:
        ValueError: counts below 1, a bound that is not positive, unknown choices.
        TypeError: an inner optimiser or a strategy that is none.
    """

    inner: Inner | torch.optim.Optimizer | str
    steps: int
    batch_size: int
    moments: str = "fresh"
    validation_size: int | None = None
    strategy: Strategy = field(default_factory=Unroll)
    clip: float | None = 1e8
    nonfinite: str = "raise"

    def __post_init__(self) -> None:
        """Reject what cannot be."""
        if not (isinstance(self.inner, str) and self.inner == "student"):
            _check_inner(self.inner)
        arguments.check_whole("steps", self.steps, 1)
        arguments.check_whole("batch_size", self.batch_size, 1)
        if self.validation_size is not None:
            arguments.check_whole("validation_size", self.validation_size, 1)
        arguments.check_one_of("moments", self.moments, MOMENTS)
        arguments.check_one_of("nonfinite", self.nonfinite, NONFINITE)
        check_strategy(self.strategy)
        check_clip(self.clip)

    def rule(self, student_optimizer: torch.optim.Optimizer) -> Inner:
        """Return the inner optimiser beside a student's present one.

        Raises:
            TypeError, ValueError: an optimiser that has no differentiable counterpart.
        """
        return inner_from(student_optimizer) if isinstance(self.inner, str) else rule_of(self.inner)


def check_clip(clip: float | None) -> None:
    """Reject bounds that are not positive."""
    if clip is not None:
        arguments.check_positive("clip", clip)


def _check_inner(inner: object) -> None:
    if isinstance(inner, str):
        raise ValueError(f"`inner` should be an inner optimiser or 'student', that is the student's own. Found {inner!r}.")
    rule_of(inner)
