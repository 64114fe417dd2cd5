"""The Game of Life's student and teachers, and the settings that a search chooses for them."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from craik.distill import TimeMixture
from craik.networks import scaled_convolutions
from craik.tasks.life import STEPS, LifeData, oracle_logits

Method = Literal["meta", "random", "oracle", "none"]

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


def make_teacher(method: Method, setting: Setting, data: LifeData, generator: torch.Generator) -> TimeMixture:
    """Return the mixture over time for the supervised layers: all nine, or with the oracle the third of every generation."""
    layers = range(2, LAYERS, 3) if method == "oracle" else range(LAYERS)
    names = {f"body.{2 * layer}": setting.filters for layer in layers}
    teacher = TimeMixture(STEPS, names, scale=setting.scale, generator=generator)
    if method == "oracle":
        with torch.no_grad():
            teacher.phi.copy_(oracle_logits(data.frame_of_step, setting.filters))
    return teacher
