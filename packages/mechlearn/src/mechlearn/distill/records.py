"""`Taught`: what the steps of `mechlearn.distill.Distillation` report."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.distill.examples.causes import Read, cause, loss_cause


class MetaRecord(NamedTuple):
    """What a meta-step reports.

    Attributes:
        validation_loss: L_val at theta_n, before the teacher's step; it may be no number where the unroll diverged.
        training_losses: (n,) L_train = L_y + alpha L_h at each inner step.
        nonfinite: components of the meta-gradient that are NaN or infinite: all, where the unroll diverged.
        clipped: finite components that were clipped.
        norm: of the (clipped) meta-gradient.
        skipped: the teacher was left as it was, because components were not finite (``nonfinite="skip"``).
    """

    validation_loss: float
    training_losses: Float[Tensor, " n"]
    nonfinite: int
    clipped: int
    norm: float
    skipped: bool


class StudentRecord(NamedTuple):
    """What the student's ordinary steps report: means over their N batches.

    Attributes:
        label_loss: L_y.
        teaching_loss: L_h, without alpha.
    """

    label_loss: float
    teaching_loss: float


class Taught(NamedTuple):
    """What `Distillation.step` reports: the teacher's part and the student's.

    Attributes:
        meta: of the teacher's step.
        student: of the student's ordinary steps with the new teacher.
    """

    meta: MetaRecord
    student: StudentRecord


def check_finite_step(label_loss: float, teaching_loss: float, step: int, read: Callable[[], Read], prediction: object) -> None:
    """Reject a student step along a loss that is no number, and say why.

    Args:
        label_loss: L_y.
        teaching_loss: L_h.
        step: its number, from 0.
        read: gives what the step has read, where it is asked for.
        prediction: what L_y is of.
    """
    if not (math.isfinite(label_loss) and math.isfinite(teaching_loss)):
        found = cause(read()) or loss_cause(prediction, torch.tensor(label_loss))
        raise FloatingPointError(
            f"The student's losses should be finite. Found a label loss of {label_loss} and a teaching loss of "
            f"{teaching_loss} at step {step + 1}. {found or 'Lower the learning rate or alpha.'} Nothing was changed."
        )
