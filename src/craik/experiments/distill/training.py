"""The loops that chapter 4's experiments share: ordinary steps of a student, rounds of a step object, looks now and then."""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Generator, Tensor


def shuffled(rows: Tensor, batch: int, generator: Generator) -> Iterator[Tensor]:
    """Yield batches of rows for ever, each pass in a fresh order; a last, smaller batch is dropped."""
    while True:
        order = rows[torch.randperm(len(rows), generator=generator)]
        yield from order[: len(rows) - len(rows) % batch].split(batch)


def ordinary_steps(
    losses: Callable[[Tensor], Tensor],
    batches: Iterator[Tensor],
    optimizer: torch.optim.Optimizer,
    steps: int,
    every: int,
) -> Iterator[int]:
    """Take steps without a meta-gradient; yield the number of steps so far after every so many.

    Args:
        losses: from the rows of a batch to losses, whose mean is descended.
        batches: rows, see `shuffled`.
        optimizer: of what is trained.
        steps: how many in all.
        every: how many between two yields.
    """
    for step in range(1, steps + 1):
        rows = next(batches)
        optimizer.zero_grad()
        losses(rows).mean().backward()
        optimizer.step()
        if step % every == 0:
            yield step


def rounds_of(take: Callable[[int], object], rounds: int, steps: int) -> Iterator[int]:
    """Take rounds, each with so many ordinary steps in it; yield the number of ordinary steps after every round."""
    for round_ in range(1, rounds + 1):
        take(steps)
        yield round_ * steps


def now_and_then(steps: Iterable[int], every: int, rounds: int) -> Iterator[int]:
    """Let a student train round by round; yield the number of its steps every so many rounds, and at the end."""
    for round_, step in enumerate(steps, start=1):
        if round_ % every == 0 or round_ == rounds:
            yield step
