"""The teacher's step along a meta-gradient."""

import math

import torch
from torch import nn

from mechlearn.distill.meta import MetaGradient
from mechlearn.distill.saving.undoing import undone_on_failure
from mechlearn.distill.strategies.inner_problem import DivergedError
from mechlearn.params import parameters_of


def diverged_meta_gradient(teacher: nn.Module, unroll: DivergedError) -> MetaGradient:
    """Return what an unroll leaves that diverged: a meta-gradient without a number in it, and no student."""
    gradients = {name: torch.full_like(parameter, math.nan) for name, parameter in parameters_of(teacher).items()}
    count = sum(gradient.numel() for gradient in gradients.values())
    return MetaGradient(gradients, unroll.validation_loss, unroll.training_losses, count, 0, {})


def move_teacher(teacher: nn.Module, optimizer: torch.optim.Optimizer, found: MetaGradient, nonfinite: str) -> bool:
    """Step the meta-optimiser along the gradient; return whether the step was skipped. If it fails, nothing has changed.

    Args:
        teacher: whose parameters move.
        optimizer: over them.
        found: the meta-gradient.
        nonfinite: "raise", "skip" or "zero", where components are not finite.
    """
    if found.nonfinite and nonfinite == "raise":
        raise FloatingPointError(
            f"Every component of the meta-gradient should be finite. Found {found.nonfinite} that are not. Shorten "
            f"the unroll, "
            "lower the inner learning rate, or pass nonfinite='skip' or 'zero'; the teacher was not moved."
        )
    if found.nonfinite and nonfinite == "skip":
        return True
    with undone_on_failure(module=teacher, optimizer=optimizer):
        for name, parameter in teacher.named_parameters():
            if name in found.gradients:
                gradient = found.gradients[name]
                parameter.grad = gradient.nan_to_num(0.0, 0.0, 0.0) if found.nonfinite else gradient.clone()
        optimizer.step()
        optimizer.zero_grad()
    return False
