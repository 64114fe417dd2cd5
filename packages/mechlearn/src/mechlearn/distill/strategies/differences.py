"""A meta-gradient of the user's own set-up against finite differences."""

import copy
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, nn

from mechlearn import arguments
from mechlearn.distill.meta import MetaGradient
from mechlearn.params import Params, dot, parameters_of


class Difference(NamedTuple):
    """A directional derivative of the validation loss, found twice.

    Attributes:
        derivative: from the meta-gradient.
        difference: the central difference of two unrolls.
        relative_error: the distance of the two over the larger of their magnitudes; 0 where both are 0.
    """

    derivative: float
    difference: float
    relative_error: float


def finite_differences(
    compute: Callable[[nn.Module], MetaGradient],
    teacher: nn.Module,
    *,
    generator: Generator,
    directions: int = 3,
    step: float = 1e-5,
) -> list[Difference]:
    """Compare a meta-gradient with central differences along random directions of the teacher's parameters.

    Meant for float64 models and data: in float32 the differences drown in rounding, and at a kink of a ReLU neither is right.
    The teacher itself is not changed; each direction costs two unrolls.

    Args:
        compute: from a teacher to its meta-gradient, ``lambda teacher: meta_gradient(replace(lesson, teacher=teacher), ...)``.
        teacher: where to differentiate.
        generator: of the directions, which have unit length.
        directions: how many.
        step: length of a step to either side.

    Returns:
        For each direction the meta-gradient along it, and the difference quotient.

    Raises:
        ValueError: a step that is not positive, no directions.
        TypeError: a function, a number or a generator that is none.
    """
    arguments.check_callable("compute", compute, "a function from a teacher to its meta-gradient")
    arguments.check_kind("teacher", teacher, nn.Module, "a torch.nn.Module")
    arguments.check_generator("generator", generator)
    arguments.check_whole("directions", directions, 1)
    arguments.check_positive("step", step, way_out="1e-5 suits float64.")
    made = compute(teacher)
    arguments.check_kind("compute(teacher)", made, MetaGradient, "a MetaGradient")
    found: list[Difference] = []
    for _ in range(directions):
        direction = _direction(parameters_of(teacher), generator)
        ahead, behind = (float(compute(_moved(teacher, direction, side)).validation_loss) for side in (step, -step))
        derivative, difference = float(dot(made.gradients, direction)), (ahead - behind) / (2 * step)
        larger = max(abs(derivative), abs(difference))
        found.append(Difference(derivative, difference, abs(derivative - difference) / larger if larger else 0.0))
    return found


def _direction(params: Params, generator: Generator) -> Params:
    place = generator.device
    drawn = {n: torch.randn(p.shape, generator=generator, dtype=p.dtype, device=place).to(p) for n, p in params.items()}
    length = math.sqrt(float(dot(drawn, drawn)))
    return {name: tensor / length for name, tensor in drawn.items()}


def _moved(teacher: nn.Module, direction: Params, length: float) -> nn.Module:
    moved = copy.deepcopy(teacher)
    with torch.no_grad():
        for name, parameter in moved.named_parameters():
            if name in direction:
                parameter.add_(direction[name], alpha=length)
    return moved
