"""The Game of Life's student and teachers, and the settings that a search chooses for them."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from craik.distill import TimeMixture
from craik.experiments.distill.life.convolutions import scaled_convolutions
from craik.tasks.pictures.life import STEPS, LifeData, oracle_logits
from craik.tasks.privileged import Part

Method = Literal["meta", "random", "oracle", "none"]
Layers = Literal["all", "third"]

LAYERS = 3 * STEPS
"""Hidden layers of the student: three for each generation."""


class Setting(NamedTuple):
    """One trial's settings; the ranges are appendix C.3's. A method leaves at 0 what it does not use."""

    lr: float
    beta1: float
    decay: float
    batch: int
    multiplier: float
    filters: int
    alpha: float = 0.0
    scale: float = 0.0
    inner_steps: int = 0
    meta_lr: float = 0.0
    meta_momentum: float = 0.0
    validation: float = 0.0


class Student(nn.Module):
    """Nine convolutions with ReLU that keep the board's size, and a linear read-out of the middle cell's features."""

    def __init__(self, setting: Setting, generator: torch.Generator) -> None:
        super().__init__()
        self.body = scaled_convolutions((1, *[setting.filters] * LAYERS), setting.multiplier, generator)
        self.read = scaled_convolutions((setting.filters, 1), setting.multiplier, generator, width=1)[0]

    def forward(self, x: Tensor) -> Tensor:
        """Return the middle cell's logit (b,)."""
        hidden = self.body(x[:, None])
        middle = x.shape[-1] // 2
        return self.read(hidden[:, :, middle : middle + 1, middle : middle + 1]).flatten()


def make_teacher(
    method: Method, setting: Setting, data: LifeData, generator: torch.Generator, supervised: Layers
) -> TimeMixture:
    """Return the mixture over time for the supervised layers: all nine, or the third of every generation.

    The oracle has the latter in any case: no frame stands between two generations.
    """
    layers = range(LAYERS) if supervised == "all" and method != "oracle" else range(2, LAYERS, 3)
    names = {f"body.{2 * layer}": setting.filters for layer in layers}
    teacher = TimeMixture(STEPS, names, scale=setting.scale, generator=generator)
    if method == "oracle":
        with torch.no_grad():
            teacher.phi.copy_(oracle_logits(data.frame_of_step, setting.filters))
    return teacher


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each board."""
    return binary_cross_entropy_with_logits(prediction, y, reduction="none")


def losses_without(student: Student, examples: Part) -> Callable[[Tensor], Tensor]:
    """Return the loss on labels alone, by the rows of a batch."""
    return lambda rows: label_loss(student(examples.x[rows]), examples.y[rows])


def accuracy(student: Student, examples: Part) -> float:
    """Return a student's accuracy."""
    with torch.no_grad():
        parts = [student(x) for x in examples.x.split(500)]
    return float(((torch.cat(parts) > 0) == (examples.y > 0.5)).float().mean())
