"""A training loop, in the two lines that every experiment's own loop has: which step is next, and one step down a loss.

    for step in kept_steps("training", config.steps, model, optimizer, schedule, generator):
        rows = torch.randint(len(data.x), (64,), generator=generator)
        descend(optimizer, cross_entropy(model(data.x[rows]), data.y[rows]), schedule, clip=1.0)

The loop stays the experiment's: what it draws, what it looks at and how it combines gradients stand in it.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from claimlab import checkpoint

Schedule = torch.optim.lr_scheduler.LRScheduler


def kept_steps(name: str, steps: int, *parts: Any) -> Iterator[int]:  # noqa: ANN401  # whatever a checkpoint keeps
    """Yield the steps that are left of a loop, from 0; a killed seed continues where it was, bit for bit.

    Args:
        name: the loop's own within a seed.
        steps: how many there are in all.
        parts: what the loop changes, see `claimlab.Saved.restore`; they stay as they are at its end.
    """
    saved = checkpoint(name, *parts)
    for step in range(saved.done, steps):
        yield step
        saved.keep(step + 1)
    saved.stay()


def descend(
    optimizer: torch.optim.Optimizer, loss: Tensor, schedule: Schedule | None = None, clip: float | None = None
) -> None:
    """Take one step of an optimiser down a loss.

    Args:
        optimizer: of what is trained.
        loss: a scalar.
        schedule: of the learning rate; it takes a step, too.
        clip: the largest norm of the gradient; None for any.
    """
    optimizer.zero_grad()
    loss.backward()
    if clip is not None:
        nn.utils.clip_grad_norm_([one for group in optimizer.param_groups for one in group["params"]], clip)
    optimizer.step()
    if schedule is not None:
        schedule.step()


def descend_apart(optimizer: torch.optim.Optimizer, loss: Tensor, schedule: Schedule | None = None) -> None:
    """Take one step down a loss that reaches more than the optimiser's parameters, as a GAN's player does.

    Gradients of the other player's parameters are neither computed nor touched.
    """
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True):
        parameter.grad = gradient
    optimizer.step()
    if schedule is not None:
        schedule.step()
