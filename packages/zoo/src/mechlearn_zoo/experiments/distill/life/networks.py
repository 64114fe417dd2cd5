"""The Game of Life's student and teachers, and the settings that a search chooses for them."""

from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from claimlab import Row
from mechlearn.distill import Distillation, TimeMixture
from mechlearn_zoo.experiments.distill.life.convolutions import scaled_convolutions
from mechlearn_zoo.tasks.pictures.life import STEPS, LifeData, oracle_logits
from mechlearn_zoo.tasks.privileged import Part

Method = Literal["meta", "random", "oracle", "none", "meta-adam", "meta-inner-sgd", "oracle-two"]
Layers = Literal["all", "third"]

PER_GENERATION = 3
"""Hidden layers of the student for each generation."""


def layers_of(method: str) -> int:
    """Return a student's hidden layers for each generation: three, or two where the method says so."""
    return 2 if method.endswith("-two") else PER_GENERATION


def learns(method: str) -> bool:
    """Say whether a method's teacher is trained."""
    return method.startswith("meta")


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
    inner_lr: float = 0.0


class Student(nn.Module):
    """Convolutions with ReLU, some for each generation, that keep the board's size; a linear read-out of the middle cell."""

    def __init__(self, setting: Setting, generator: torch.Generator, per_generation: int = PER_GENERATION) -> None:
        super().__init__()
        channels = (1, *[setting.filters] * (per_generation * STEPS))
        self.body = scaled_convolutions(channels, setting.multiplier, generator)
        self.read = scaled_convolutions((setting.filters, 1), setting.multiplier, generator, width=1)[0]

    def forward(self, x: Tensor) -> Tensor:
        """Return the middle cell's logit (b,)."""
        hidden = self.body(x[:, None])
        middle = x.shape[-1] // 2
        return self.read(hidden[:, :, middle : middle + 1, middle : middle + 1]).flatten()


def make_teacher(
    method: Method, setting: Setting, data: LifeData, generator: torch.Generator, supervised: Layers
) -> TimeMixture:
    """Return the mixture over time for the supervised layers: all of the student's, or the last of every generation.

    The oracle has the latter in any case: no frame stands between two generations.
    """
    own, oracle = layers_of(method), method.startswith("oracle")
    layers = range(own * STEPS) if supervised == "all" and not oracle else range(own - 1, own * STEPS, own)
    names = {f"body.{2 * layer}": setting.filters for layer in layers}
    teacher = TimeMixture(STEPS, names, scale=setting.scale, generator=generator)
    if oracle:
        with torch.no_grad():
            teacher.phi.copy_(oracle_logits(data.frame_of_step, setting.filters))
    return teacher


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each board."""
    return binary_cross_entropy_with_logits(prediction, y, reduction="none")


def told(taught: Distillation, frame_of_step: Tensor) -> Row:
    """Return what LDT knows itself: the loss on the labels that train its teacher, and what the teacher's softmax does.

    Args:
        taught: a student and its teacher.
        frame_of_step: where the board after each generation stands among the privileged frames; LDT does not know this.

    Returns:
        `validation_loss`; where a layer a generation is supervised also `right_1` to `right_3`, the share of its filters whose
        greatest weight lies on that generation's board, and `sharpness`, the mean of the greatest weights.
    """
    teacher, rows = cast(TimeMixture, taught.lesson.teacher), taught.split.validation
    with torch.no_grad():
        prediction = cast(Tensor, taught.lesson.student(cast(Tensor, taught.examples.x)[rows]))
        weights = teacher.phi.softmax(0)
    row: Row = {"validation_loss": float(label_loss(prediction, taught.examples.y[rows]).mean())}
    if len(teacher.filters) == STEPS:
        parts = weights.split(list(teacher.filters.values()), dim=1)
        for step, (part, frame) in enumerate(zip(parts, frame_of_step, strict=True), 1):
            row[f"right_{step}"] = float((part.argmax(0) == frame).float().mean())
        row["sharpness"] = float(weights.max(0).values.mean())
    return row


def accuracy(student: Student, examples: Part) -> float:
    """Return a student's accuracy."""
    with torch.no_grad():
        parts = [student(x) for x in examples.x.split(500)]
    return float(((torch.cat(parts) > 0) == (examples.y > 0.5)).float().mean())
