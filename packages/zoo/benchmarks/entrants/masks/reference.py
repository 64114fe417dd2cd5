"""The literal reference: environment by environment in float64, and which components float32 can decide at all."""

from typing import NamedTuple

import torch
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from torch import Tensor

from mechlearn.agreement.rules import required_count

NOISE = 10.0
"""A sign is in doubt below this multiple of the largest float32 error in its tensor and environment."""


class Reference(NamedTuple):
    """What the definition says of one problem; each list holds one tensor a parameter.

    Attributes:
        gradients: the masked mean in float64.
        decided: True where the mask is the same however the signs in doubt fall. A sign is in doubt where float64's g_e is
            within `NOISE` times the largest difference between the literal float32 and float64 gradients of that tensor.
    """

    gradients: list[Tensor]
    decided: list[Tensor]

    @property
    def components(self) -> int:
        """The number of components of the whole model."""
        return sum(gradient.numel() for gradient in self.gradients)

    @property
    def share_decided(self) -> float:
        """The share of components whose mask float32 can decide."""
        return sum(int(decided.sum()) for decided in self.decided) / self.components


class Score(NamedTuple):
    """How a method's gradient compares with the reference.

    Attributes:
        mismatches: components whose mask differs from the reference's, rounding noise included.
        exact: no decided component differs, and the values agree to float32's accuracy.
        error: norm of the difference over norm of the reference, where the masks are the same.
    """

    mismatches: int
    exact: bool
    error: float


def reference(problem: Problem) -> Reference:
    """Form the reference of a problem: one forward and backward pass for each environment, in float32 and in float64."""
    single, double = problem.copy(), problem.double()
    zeros = [torch.zeros_like(p, requires_grad=False) for p in double.parameters]
    total, sign, sure, doubts = ([z.clone() for z in zeros] for _ in range(4))
    for e in range(problem.count):
        for i, (g32, g64) in enumerate(zip(_gradient(single, e), _gradient(double, e), strict=True)):
            doubt = g64.abs() <= NOISE * (g32 - g64).abs().max()
            doubt &= (g32 != 0) | (g64 != 0)  # a zero in both is a sign like another
            total[i] += g64
            sign[i] += g64.sign()
            sure[i] += torch.where(doubt, 0.0, g64.sign())
            doubts[i] += doubt
    least = required_count(problem.threshold, problem.count)
    gradients = [torch.where(s.abs() >= least, t / problem.count, 0.0) for t, s in zip(total, sign, strict=True)]
    decided = [(s.abs() - d >= least) | (s.abs() + d < least) for s, d in zip(sure, doubts, strict=True)]
    return Reference(gradients, decided)


def score(gradients: list[Tensor], expected: Reference) -> Score:
    """Compare a method's gradients with the reference's."""
    mismatches, wrong, difference, norm = 0, 0, 0.0, 0.0
    for gradient, literal, decided in zip(gradients, expected.gradients, expected.decided, strict=True):
        same = (gradient != 0) == (literal != 0)
        mismatches += int((~same).sum())
        wrong += int((~same & decided).sum())
        difference += float(((gradient - literal)[same] ** 2).sum())
        norm += float((literal[same] ** 2).sum())
    error = (difference / norm) ** 0.5 if norm else difference**0.5
    return Score(mismatches, wrong == 0 and error < 1e-3, error)


def _gradient(problem: Problem, e: int) -> tuple[Tensor, ...]:
    """Return environment e's gradient, from a forward pass of its own."""
    x, y = problem.by_environment(problem.x)[e], problem.by_environment(problem.y)[e]
    return torch.autograd.grad(problem.loss(problem.model(x), y).mean(), problem.parameters)
