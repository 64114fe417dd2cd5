"""Teaching losses L_h(h, h*): how far the student's activations are from what the teacher asks for, one value an example.

A teaching loss is any differentiable callable from the supervised layers' outputs and the teacher's targets, both by layer
name, to a tensor (B,). Those here are frozen dataclasses. `reduction` says whether the squares of all units of all layers are
added or averaged: the texts write a sum with "proportional to", which alpha absorbs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import log_softmax

from mechlearn import arguments
from mechlearn.distill.teachers.targets import Targets
from mechlearn.scaling import widened

Hidden = Mapping[str, Tensor]
"""The supervised layers' outputs h by layer name, each (B, ...)."""

TeachingLoss = Callable[[Hidden, Targets], Tensor]
"""From hidden activations and targets to (B,) losses."""

LabelLoss = Callable[[Tensor, Tensor], Tensor]
"""From predictions and labels to one unreduced loss for each example, such as ``cross_entropy(..., reduction="none")``."""

Reduction = Literal["mean", "sum"]
REDUCTIONS = ("mean", "sum")


@dataclass(frozen=True)
class HiddenSquaredError(arguments.Choice):
    """The squared error of all supervised units: (h_k - h*_k)^2, averaged or added over k.

    Half numbers are squared and added in float32 and returned so, as what comes of them may be larger than they can say.

    Attributes:
        reduction: over units, "mean" or "sum".
    """

    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        """Reject another word."""
        arguments.check_one_of("reduction", self.reduction, REDUCTIONS)

    def __call__(self, hidden: Hidden, targets: Targets) -> Float[Tensor, " b"]:
        """Return the (B,) losses.

        Raises:
            ValueError: no examples, or layers without units.
        """
        squares = {name: _difference(h, targets[name].value).square() for name, h in hidden.items()}
        return _over_units(squares, self.reduction)


@dataclass(frozen=True)
class GatedSquaredError(arguments.Choice):
    """The gated squared error sum_k sigmoid(m_k / 2 - 1) (h_k - h*_k)^2 (paper 4.3, thesis appendix C.2.2.2).

    Half numbers are squared and added in float32, as in `HiddenSquaredError`.

    Attributes:
        scale: factor of the gate m.
        shift: added to it.
        reduction: over units, "mean" or "sum".
    """

    scale: float = 0.5
    shift: float = -1.0
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        """Reject what would never open a gate, and other words."""
        arguments.check_positive("scale", self.scale)
        arguments.check_finite("shift", self.shift)
        arguments.check_one_of("reduction", self.reduction, REDUCTIONS)

    def __call__(self, hidden: Hidden, targets: Targets) -> Float[Tensor, " b"]:
        """Return the (B,) losses.

        Raises:
            ValueError: a target without a gate; no examples, or layers without units.
        """
        squares: dict[str, Tensor] = {}
        for name, h in hidden.items():
            value, gate = targets[name]
            if gate is None:
                raise ValueError(
                    f"A gated teaching loss should find a gate for every supervised layer. Found none for {name!r}. Let the "
                    "teacher return Target(value, gate), or use HiddenSquaredError."
                )
            squares[name] = torch.sigmoid(self.scale * widened(gate) + self.shift) * _difference(h, value).square()
        return _over_units(squares, self.reduction)


@dataclass(frozen=True)
class KullbackLeibler(arguments.Choice):
    """KL(softmax(h*) || softmax(h)) over the last dimension, for a teacher of the student's logits (task B, paper 4.1).

    Half numbers are compared in float32.

    Attributes:
        temperature: both are divided by it before the softmax.
        direction: "teacher-student" as above, or "student-teacher" for KL(softmax(h) || softmax(h*)).
    """

    temperature: float = 1.0
    direction: Literal["teacher-student", "student-teacher"] = "teacher-student"

    def __post_init__(self) -> None:
        """Reject anything but a temperature, and another direction, which would be the reverse one without a word."""
        arguments.check_positive("temperature", self.temperature)
        arguments.check_one_of("direction", self.direction, ("teacher-student", "student-teacher"))

    def __call__(self, hidden: Hidden, targets: Targets) -> Float[Tensor, " b"]:
        """Return the (B,) divergences, added over layers and over dimensions between the first and the last.

        A logit of -inf is a class that cannot be. Where the first distribution has no such class it adds nothing; where the
        second alone has none the divergence is infinite, as defined.

        Raises:
            ValueError: a layer with fewer than two logits an example, whose softmax is 1 whatever they are; no examples.
        """
        _check_some(hidden)
        divergences: list[Tensor] = []
        for name, h in hidden.items():
            if h.dim() < 2 or h.shape[-1] < 2:
                raise ValueError(
                    f"A divergence should be between at least two logits, along the last dimension. Found {name!r} with an "
                    f"output of shape {tuple(h.shape)}. Use HiddenSquaredError, or supervise a layer of several logits."
                )
            log_q = log_softmax(widened(h) / self.temperature, dim=-1)
            log_p = log_softmax(widened(targets[name].value) / self.temperature, dim=-1)
            if self.direction == "student-teacher":
                log_p, log_q = log_q, log_p
            # What p cannot be adds 0, whatever q is there; 0 * (-inf - log q) would be NaN, and so would its gradient.
            none = log_p == -torch.inf
            difference = log_p.masked_fill(none, 0.0) - log_q.masked_fill(none, 0.0)
            divergences.append((log_p.exp() * difference).flatten(1).sum(1))
        return torch.stack(divergences).sum(0)


def _difference(h: Tensor, value: Tensor) -> Tensor:
    if h.is_complex() or value.is_complex():
        raise TypeError(
            f"A squared error should be of real numbers. Found a layer's output of {h.dtype} and targets of {value.dtype}. "
            "Supervise real and imaginary parts, with torch.view_as_real, or write a teaching loss of your own."
        )
    return widened(h) - widened(value)


def _check_some(tensors: Mapping[str, Tensor]) -> None:
    """Reject a batch of no examples, and layers of no units: a mean over them is none."""
    for name, tensor in tensors.items():
        if tensor.dim() == 0 or tensor.numel() == 0:
            raise ValueError(
                f"A teaching loss should be of an example and of a unit at least, (B, ...). Found the shape "
                f"{tuple(tensor.shape)} for {name!r}. Leave empty batches out."
            )
    if not tensors:
        raise ValueError("A teaching loss should be of a layer at least. Found none. Name the supervised layers.")


def _over_units(squares: Mapping[str, Tensor], reduction: Reduction) -> Tensor:
    _check_some(squares)
    # An output (B,) is one unit an example.
    rows = [square.flatten(1) if square.dim() > 1 else square[:, None] for square in squares.values()]
    total = torch.stack([row.sum(1) for row in rows]).sum(0)
    return total if reduction == "sum" else total / sum(row.shape[1] for row in rows)


def check_losses(what: str, losses: Any, examples: int) -> None:  # noqa: ANN401  # a user's loss may return anything
    """Reject losses that are not one number for each example."""
    if not isinstance(losses, Tensor) or losses.shape != (examples,):
        found = f"shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(
            f"The {what} loss should be unreduced, one value for each of {examples} examples. Found {found}. Build it with "
            "reduction='none', and average over everything but the examples."
        )
