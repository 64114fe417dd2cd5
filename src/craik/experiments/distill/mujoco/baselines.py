"""The published settings of the experiments on simulated bodies, and what a grid's runs differ in."""

from typing import Literal, NamedTuple

from torch import nn

Method = Literal["no-teacher", "auxiliary", "ldt"]


class Printed(NamedTuple):
    """Table C.5: the settings of LDT that the authors found best for an environment."""

    meta_beta1: float
    log10_alpha: float
    validation: float


PRINTED: dict[str, Printed] = {
    "Swimmer": Printed(0.9, 2.5, 0.3),
    "Walker2d": Printed(0.9, 3.0, 0.5),
    "Hopper": Printed(0.0, 2.5, 0.3),
    "HalfCheetah": Printed(0.0, 2.5, 0.7),
}


class Setting(NamedTuple):
    """One point of a grid: what differs between the runs of a method."""

    lr: float
    decay: float
    batch: int
    weight: float


def without_direction(module: nn.Module, decay: float) -> list[dict[str, object]]:
    """Return parameter groups with weight decay on all but the directions of weight norm.

    A direction's length changes nothing that the network computes, but L2 inside Adam shrinks that of a dead unit to 0
    within some thousand steps, and then the weight is 0 / 0 (docs/deviations.md).
    """
    named = list(module.named_parameters())
    directions = [parameter for name, parameter in named if name.endswith("original1")]
    others = [parameter for name, parameter in named if not name.endswith("original1")]
    return [{"params": others, "weight_decay": decay}, {"params": directions, "weight_decay": 0.0}]
