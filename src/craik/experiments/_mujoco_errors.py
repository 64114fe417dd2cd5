"""Looks at the errors of a student of simulated bodies while it trains."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import nn

from craik.distill import Examples
from craik.experiments._measured import Measured
from craik.experiments._ordinary_steps import now_and_then
from craik.tasks.mujoco import bin_errors
from craik.tasks.privileged import PrivilegedData


class Look(NamedTuple):
    """A student's errors at one time (thesis appendix C.2.2.1: squared error of the expected bin)."""

    measured: Measured
    training: float


def watch(student: nn.Module, data: PrivilegedData, steps: Iterable[int], every: int, rounds: int) -> Iterator[Look]:
    """Let a student train, and look at its errors every so many rounds and at the end."""
    for step in now_and_then(steps, every, rounds):
        errors = [mean_error(student, split) for split in (data.selection, data.test, data.train)]
        yield Look(Measured(step, errors[0], errors[1]), errors[2])


def mean_error(student: nn.Module, examples: Examples) -> float:
    """Return the mean squared error of the expected bin."""
    with torch.no_grad():
        return float(bin_errors(student(examples.x), examples.y).mean())
