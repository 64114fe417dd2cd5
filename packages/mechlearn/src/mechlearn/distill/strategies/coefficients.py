"""The teaching coefficient free of scale: alpha relative to what the label loss weighs.

Measured once on one batch, at the student's present parameters, and a constant from there on: multiplying L_y or L_h by a
factor then changes the coefficient, and no more. The printed coefficient is a number that each task needs again.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from mechlearn.distill.lesson import Lesson
from mechlearn.distill.strategies.inner_problem import InnerProblem
from mechlearn.params import leaves
from mechlearn.scaling import widened


def coefficient(lesson: Lesson, label_loss: Tensor, teaching_loss: Tensor, params: Sequence[Tensor]) -> float | Tensor:
    """Return what L_h is multiplied by: alpha, or a scalar tensor where it is relative.

    Args:
        lesson: with alpha and what it is relative to.
        label_loss: L_y of a batch, with its graph.
        teaching_loss: L_h of the same batch, likewise.
        params: the student's trainable parameters in that graph.
    """
    relative_to = lesson.alpha_relative_to
    if relative_to is None:
        return lesson.alpha
    above, below = (
        (loss.detach().abs() if relative_to == "loss" else _norm(loss, params)) for loss in (label_loss, teaching_loss)
    )
    found = lesson.alpha * above / below
    if not bool(torch.isfinite(found)):
        what = "" if relative_to == "loss" else "'s gradient"
        raise FloatingPointError(
            f"alpha relative to the label loss{what} should have two numbers to be measured by, the second not 0. Found "
            f"{float(above):.3g} for the label loss{what} and {float(below):.3g} for the teaching loss{what}. Look at the "
            "data, or pass alpha_relative_to=None."
        )
    return found


def _norm(loss: Tensor, params: Sequence[Tensor]) -> Tensor:
    found = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True, materialize_grads=True)
    return torch.stack([widened(gradient.detach()).square().sum() for gradient in found]).sum().sqrt()


def measured(problem: InnerProblem) -> InnerProblem:
    """Return the problem with its coefficient as it is measured on the first batch, where alpha is relative."""
    if problem.lesson.alpha_relative_to is None:
        return problem
    params = leaves(problem.start.params)
    losses = problem.losses(params, problem.batch(0), problem.step_signals(0))
    alpha = coefficient(problem.lesson, *losses, list(params.values()))
    return replace(problem, lesson=replace(problem.lesson, alpha=alpha, alpha_relative_to=None))
