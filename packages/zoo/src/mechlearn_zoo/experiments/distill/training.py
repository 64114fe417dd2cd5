"""Training a student: shuffled batches, ordinary steps, rounds of a step object, looks now and then.

Every method takes its ordinary steps here, so that in a comparison only what is descended differs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from mechlearn.distill.examples.streams import Stream
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.privileged import Part

Count = Annotated[int, Ge(1)]
"""A setting that counts something: steps, examples, units."""

Counts = Annotated[tuple[Count, ...], MinLen(1)]
"""Some of these."""


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each example."""
    return cross_entropy(prediction, y, reduction="none")


def binary_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the same of a single logit (n, 1)."""
    return binary_cross_entropy_with_logits(prediction[:, 0], y, reduction="none")


@torch.no_grad()
def accuracy(student: nn.Module, examples: Part) -> float:
    """Return how often a student's single logit has the sign of the label."""
    return float(((student(examples.x)[:, 0] > 0) == (examples.y > 0.5)).float().mean())


def ordinary_steps(
    losses: Callable[[Tensor], Tensor],
    batches: Iterator[Tensor],
    optimizer: torch.optim.Optimizer,
    steps: int,
    every: int,
    done: int = 0,
) -> Iterator[int]:
    """Take steps without a meta-gradient; yield the number of steps so far after every so many.

    Args:
        losses: from the rows of a batch to losses, whose mean is descended.
        batches: rows, such as `mechlearn.distill.examples.streams.Stream` gives.
        optimizer: of what is trained.
        steps: how many in all.
        every: how many between two yields.
        done: how many were taken before.
    """
    for step in range(done + 1, steps + 1):
        descend(optimizer, losses(next(batches)).mean())
        if step % every == 0:
            yield step


def without_teacher(
    student: nn.Module, labelled: tuple[Tensor, Tensor], loss: Callable[[Tensor, Tensor], Tensor],
    optimizer: torch.optim.Optimizer, batch: int, generator: Generator, steps: int, every: int,
) -> Iterator[int]:  # fmt: skip
    """Take ordinary steps on inputs and labels alone, in shuffled batches; yield as `ordinary_steps` does."""
    x, y = labelled
    batches = Stream(torch.arange(len(y)), batch, generator)
    return ordinary_steps(lambda rows: loss(student(x[rows]), y[rows]), batches, optimizer, steps, every)


def rounds_of(take: Callable[[int], object], rounds: int, steps: int, done: int = 0) -> Iterator[int]:
    """Take rounds, each with so many ordinary steps in it; yield the number of ordinary steps after every round.

    The first `done` of them were taken before.
    """
    for round_ in range(done + 1, rounds + 1):
        take(steps)
        yield round_ * steps


def now_and_then(steps: Iterable[int], every: int, rounds: int, done: int = 0) -> Iterator[int]:
    """Let a student train round by round; yield the number of its steps every so many rounds, and at the end.

    The first `done` rounds came before.
    """
    for round_, step in enumerate(steps, start=done + 1):
        if round_ % every == 0 or round_ == rounds:
            yield step


def check_split(examples: int, validation: float, batch: int) -> None:
    """Reject a validation share that leaves either side empty, and a batch that is longer than what is trained on."""
    held_out = round(validation * examples)
    if not 0 < held_out < examples:
        raise ValueError(f"validation should leave some of {examples} examples on both sides. Found {validation}.")
    left = examples - held_out
    if not 1 <= batch <= left:
        raise ValueError(f"batch should lie between 1 and the {left} examples that validation leaves. Found {batch}.")
