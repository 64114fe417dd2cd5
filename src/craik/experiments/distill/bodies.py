"""Looks at the errors of a student of simulated bodies while it trains, and the rows that they make."""

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import NamedTuple

import torch
from torch import nn

from craik.experiments.distill.measured import Measured, summary
from craik.experiments.distill.training import now_and_then
from craik.lab import Row
from craik.tasks.bodies.mujoco import bin_errors
from craik.tasks.privileged import Part, PrivilegedData


class Look(NamedTuple):
    """A student's errors at one time (thesis appendix C.2.2.1: squared error of the expected bin)."""

    measured: Measured
    training: float


def watch(student: nn.Module, data: PrivilegedData, steps: Iterable[int], every: int, rounds: int) -> Iterator[Look]:
    """Let a student train, and look at its errors every so many rounds and at the end.

    Raises:
        FloatingPointError: an error that is no number.
    """
    for step in now_and_then(steps, every, rounds):
        errors = [mean_error(student, split) for split in (data.selection, data.test, data.train)]
        if not all(isfinite(error) for error in errors):
            raise FloatingPointError(f"The student's errors should be finite. Found {errors} after {step} steps.")
        yield Look(Measured(step, errors[0], errors[1]), errors[2])


def mean_error(student: nn.Module, examples: Part) -> float:
    """Return the mean squared error of the expected bin."""
    with torch.no_grad():
        return float(bin_errors(student(examples.x), examples.y).mean())


LOST = Look(Measured(0, 1.0, 1.0), 1.0)
"""What stands for a student that was lost before its first look: the greatest error there is."""


def rows_of(looks: Iterator[Look], row: Row) -> Iterator[Row]:
    """Yield a row for each look and one for the whole training run; a run that diverges ends at its last look, and says so."""
    seen: list[Look] = []
    diverged = ""
    try:
        for look in looks:
            seen.append(look)
            yield {"kind": "curve", **row, **look.measured._asdict(), "training": look.training}
    except FloatingPointError as error:
        diverged = str(error)
    seen = seen or [LOST]
    found = summary([look.measured for look in seen], min)
    at = next(look for look in seen if look.measured.step == found["selected_step"])
    gap = at.measured.test - at.training
    yield {"kind": "final", **row, **found, "training": at.training, "gap": gap, "diverged": diverged}
