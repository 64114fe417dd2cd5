"""What made a loss no number: looked for when it has happened, in the order in which one would look."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mechlearn.distill.examples.inputs import Inputs, tensors

LOGITS = "Put a sigmoid at the student's end, or take the loss of logits, such as binary_cross_entropy_with_logits."
"""The way out where logits meet a loss of probabilities."""


class Read(NamedTuple):
    """What a step has read, in the order in which a fault is looked for.

    Attributes:
        x, privileged, y: the data; None where there are none.
        signals: the teacher's.
        params: the student's, before the step.
    """

    x: Inputs
    privileged: Inputs | None
    y: Tensor
    signals: Sequence[Tensor] = ()
    params: Iterable[Tensor] = ()


def cause(read: Read) -> str | None:
    """Return in a sentence what a step has read that is not a number, with the way out; None where all are numbers."""
    data = "Clean the data, or drop these examples."
    stated: tuple[tuple[str, Iterable[Tensor], str], ...] = (
        ("the data: the inputs x", tensors(read.x), data),
        ("the data: the privileged x*", [] if read.privileged is None else tensors(read.privileged), data),
        ("the data: the labels y", [read.y], data),
        ("the teacher's targets, of data that are finite", read.signals, "Look for logarithms, roots and divisions in it."),
        ("the student's parameters before the step", read.params, "Start from a student that is finite."),
    )
    for what, given, way_out in stated:
        count = sum(map(_others, given))
        if count:
            verb = "is" if count == 1 else "are"
            return f"The cause is in {what}, where {count} of the numbers {verb} NaN or infinite. {way_out}"
    return None


def loss_cause(prediction: object, losses: Tensor) -> str | None:
    """Return in a sentence whether finite predictions have label losses that are no numbers, as logits may."""
    if not isinstance(prediction, Tensor) or _others(prediction) or not _others(losses):
        return None
    return f"The cause is in the label loss, which is no number for finite {spread(prediction)}. Are they logits? {LOGITS}"


def spread(predictions: Tensor) -> str:
    """Return between which numbers predictions lie."""
    found = predictions.detach()
    return f"predictions from {float(found.min()):.3g} to {float(found.max()):.3g}"


def _others(tensor: Tensor) -> int:
    return int((~torch.isfinite(tensor)).sum())
