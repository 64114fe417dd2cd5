"""Arms: how the gradient of a trusted loss and that of a second one become an update."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Generator, Tensor

from mechlearn.agreement.rules import Anchored, Statistics

Form = Literal["label", "second", "mix", "and-add", "half"]


class Arm(NamedTuple):
    """A way to train.

    Attributes:
        form: "label" and "second" take one gradient, "mix" adds the second times a weight, "and-add" does where its sign is the
            label's, and "half" at a random half of the components.
        weight: of the second gradient.
        kind: of the divergence.
        own: whether the second loss is of the student's own samples, or of the teacher's.
        context: "true", or "shuffled": another question's.
    """

    form: Form
    weight: float = 1.0
    kind: Literal["reverse", "forward"] = "reverse"
    own: bool = True
    context: Literal["true", "shuffled"] = "true"

    @property
    def name(self) -> str:
        """What rows call it."""
        if self.form == "second":
            return f"distill {self.kind}" if self.own else "distill teacher's samples"
        return self.form if self.form == "label" else f"{self.form} {self.weight:g}"


def combine(arm: Arm, label: Tensor, second: Tensor, half: Tensor) -> Tensor:
    """Return the gradient that an arm makes of two.

    Args:
        arm: which.
        label: of the trusted loss, for one parameter.
        second: of the other loss.
        half: True at a random half of the components.
    """
    if arm.form == "label":
        return label
    if arm.form == "second":
        return second
    if arm.form == "and-add":
        return Anchored(weight=arm.weight)(Statistics(2, label + second, each=torch.stack([label, second]))).gradient
    return label + arm.weight * (second if arm.form == "mix" else torch.where(half, second, 0))


def combine_all(arms: Sequence[Arm], labels: Sequence[Tensor], seconds: Sequence[Tensor], generator: Generator) -> list[Tensor]:
    """Return what arms side by side make of stacked gradients (r, ...); all share the random half."""
    found: list[Tensor] = []
    for label, second in zip(labels, seconds, strict=True):
        half = torch.rand(label.shape[1:], generator=generator) < 0.5
        rows = [combine(arm, one, other, half) for arm, one, other in zip(arms, label, second, strict=True)]
        found.append(torch.stack(rows))
    return found


def clip(gradients: Sequence[Tensor], norm: float) -> None:
    """Scale stacked gradients so that each model's norm over all parameters is at most a number."""
    squares = torch.stack([one.flatten(1).square().sum(1) for one in gradients]).sum(0)
    scale = (norm / squares.sqrt().clamp(min=1e-12)).clamp(max=1)
    for one in gradients:
        one.mul_(scale.view(-1, *[1] * (one.dim() - 1)))
