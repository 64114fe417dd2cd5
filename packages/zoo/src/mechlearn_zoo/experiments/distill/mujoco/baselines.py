"""Students of simulated bodies without a teacher, plain or with an auxiliary head, over the grids of tables C.2 and C.3."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from claimlab import Saved
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.bodies import Training
from mechlearn_zoo.experiments.distill.training import label_loss, ordinary_steps
from mechlearn_zoo.tasks.privileged import Part
from mechlearn_zoo.tasks.streams import same_stream


class Setting(NamedTuple):
    """One point of a grid: what differs between the runs of a method."""

    lr: float
    decay: float
    batch: int
    weight: float


def train_plainly(
    config: Training, student: nn.Sequential, examples: Part, setting: Setting, saved: Saved | None = None
) -> Iterator[int]:
    """Train a student in place without a teacher, with an auxiliary head if it has a weight; yield after every round.

    Args:
        config: how long.
        student: what is trained.
        examples: to train on.
        setting: how.
        saved: where it goes on, in rounds.
    """
    saved = saved or Saved()
    generator = same_stream(config.seed)
    wanted = examples.privileged.flatten(1)
    head = relu_mlp((config.student_widths[-1], wanted.shape[1]), generator)
    groups = [*without_direction(student, setting.decay), *without_direction(head, setting.decay)]
    optimizer = torch.optim.Adam(groups, setting.lr)
    batches = Stream(torch.arange(len(examples.y)), setting.batch, generator)

    def losses(rows: Tensor) -> Tensor:
        hidden = student[:-1](examples.x[rows])
        loss = label_loss(student[-1](hidden), examples.y[rows]).mean()
        return loss + setting.weight * (head(hidden) - wanted[rows]).square().mean() if setting.weight > 0 else loss

    saved.restore(student, head, optimizer, batches, generator)
    steps = config.student_steps
    yield from ordinary_steps(losses, batches, optimizer, config.rounds * steps, steps, saved.done * steps)


def without_direction(module: nn.Module, decay: float) -> list[dict[str, object]]:
    """Return parameter groups with weight decay on all but the directions of weight norm.

    A direction's length changes nothing that the network computes, but L2 inside Adam shrinks that of a dead unit to 0
    within some thousand steps, and then the weight is 0 / 0 (README.md, deviations).
    """
    named = list(module.named_parameters())
    directions = [parameter for name, parameter in named if name.endswith("original1")]
    others = [parameter for name, parameter in named if not name.endswith("original1")]
    return [{"params": others, "weight_decay": decay}, {"params": directions, "weight_decay": 0.0}]
