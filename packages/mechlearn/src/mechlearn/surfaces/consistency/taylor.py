"""Second-order expansions of the environments' losses, and the programs that they turn the consistency score into."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.surfaces.consistency.definition import Consistency
from mechlearn.surfaces.consistency.program import Maximum, NotPositiveError, Quadratic, maximise
from mechlearn.surfaces.landscape import Landscape


class Expansion(NamedTuple):
    """L_e around the point, to second order or without its curvature.

    Attributes:
        loss: L_e(theta*).
        gradient: (n,) g_e.
    """

    loss: float
    gradient: Float[Tensor, " n"]


def expansions(landscape: Landscape) -> list[Expansion]:
    """Return each environment's loss and gradient at the point."""
    found = [Expansion(*landscape.gradient(e)) for e in range(len(landscape.environments))]
    for name, (loss, gradient) in zip(landscape.environments, found, strict=True):
        if not bool(torch.isfinite(gradient).all()) or not torch.isfinite(torch.tensor(loss)):
            raise ValueError(
                f"Every loss and gradient should be finite. Found a loss of {loss} in environment {name}, or a gradient that "
                "is not. Look at its inputs and targets."
            )
    return found


def programs(
    stays: Expansion, other: Expansion, curvature: Tensor, other_curvature: Tensor, consistency: Consistency, sign: int
) -> tuple[Quadratic, Quadratic]:
    """Return the objective, sign (L_e' - L_e), and the constraint, L_e - L_e(theta*), of a pair as quadratics.

    Args:
        stays: environment e, whose loss stays within epsilon.
        other: environment e'.
        curvature: (n, n) H_e without the ridge.
        other_curvature: (n, n) H_e'.
        consistency: whether to subtract, and the ridge.
        sign: 1 where e' does worse than e, -1 where it does better.
    """
    ridge = consistency.ridge * torch.eye(len(curvature), dtype=curvature.dtype, device=curvature.device)
    constraint = Quadratic(0.0, stays.gradient, curvature + ridge)
    if consistency.subtract:
        difference = Quadratic(other.loss - stays.loss, other.gradient - stays.gradient, other_curvature - curvature)
    else:
        difference = Quadratic(other.loss, other.gradient, other_curvature + ridge)
    objective = Quadratic(sign * difference.constant, sign * difference.linear, sign * difference.matrix)
    return objective, constraint


def solve(objective: Quadratic, constraint: Quadratic, consistency: Consistency, environment: int) -> Maximum:
    """Solve a pair's program exactly."""
    lower = -consistency.epsilon if consistency.neighbourhood == "within" else None
    try:
        return maximise(objective, constraint, consistency.epsilon, lower)
    except NotPositiveError as error:
        raise not_positive(environment, error.least, consistency) from None


def not_positive(environment: int, least: float, consistency: Consistency) -> ValueError:
    """Return the error for a Hessian that is not positive definite."""
    name = "Hessian" if consistency.curvature == "hessian" else "Gauss-Newton matrix"
    ways = f"Choose a ridge above {max(1e-6, consistency.ridge - least):.3g}"
    if consistency.curvature == "hessian":
        ways += ", or curvature='gauss-newton', which is never negative where the loss is convex in the model's output"
    return ValueError(
        f"Every environment's {name} should be positive definite at the point, or N_e has no bound. Found a curvature of "
        f"{least:.3g} in environment {environment}, with a ridge of {consistency.ridge:g}. {ways}."
    )


def signs(consistency: Consistency) -> tuple[int, ...]:
    """Return the signs of L_e' - L_e to maximise: both for its absolute value, one where nothing is subtracted."""
    return (1, -1) if consistency.subtract else (1,)
