"""The implicit hypergradient: an approximation that takes theta_n for a minimum of the mean training loss of the n batches.

At a minimum theta(s) of L(theta, s) the implicit function theorem gives dtheta/ds = - H^-1 d2L/dtheta ds, and with
v = dL_val/dtheta the gradient by the signals is - (d2L/ds dtheta) H^-1 v (Lorraine et al., 2020, equations 2 to 4).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from mechlearn import arguments
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point, Sizes, Solved
from mechlearn.distill.teachers.signals import Signals
from mechlearn.params import leaves
from mechlearn.solvers import Operator, Vector, conjugate_gradients, neumann_series


@dataclass(frozen=True)
class Implicit(arguments.Choice):
    """An approximation: takes theta_n for a minimum of the mean training loss over the n batches (implicit function theorem).

    The gradient with respect to the signals is - (d2 L_train / d signals d theta) H^-1 dL_val/dtheta with the Hessian H at
    theta_n; H^-1 v is formed by a truncated Neumann series (Lorraine et al., 2020) or by conjugate gradients.

    Attributes:
        solver: "neumann" or "cg".
        terms: terms of the series, or iterations of conjugate gradients.
        scale: of the Neumann series, smaller than 1 over the Hessian's largest eigenvalue; unused by "cg".
        damping: added to the Hessian's diagonal.

    Raises:
        ValueError: another solver, no terms, a scale that is not positive, a negative damping.
    """

    solver: str = "neumann"
    terms: int = 16
    scale: float = 1e-2
    damping: float = 0.0

    def __post_init__(self) -> None:
        """Reject what would run another solver than was meant, or none."""
        arguments.check_one_of("solver", self.solver, ("neumann", "cg"))
        arguments.check_whole("terms", self.terms, 1)
        arguments.check_positive("scale", self.scale)
        arguments.check_not_negative("damping", self.damping)

    def solve(self, problem: InnerProblem) -> Solved:
        """Take the n steps without a graph, then apply the implicit function theorem at theta_n."""
        point, losses = problem.start, list[Tensor]()
        for i in range(problem.steps):
            point, loss = problem.advance(point, problem.batch(i), problem.step_signals(i), graph=False)
            losses.append(loss)
        params = leaves(point.params)
        validation_loss = problem.validation_loss(params)
        v = torch.autograd.grad(validation_loss, list(params.values()), allow_unused=True, materialize_grads=True)
        q = self._inverse(_hessian(problem, point, self.damping), v)
        rows = [tuple(-mixed / problem.steps for mixed in _products(problem, point, i, q)[1]) for i in range(problem.steps)]
        return problem.solved(rows, validation_loss, losses, point.params)

    def _inverse(self, hessian: Operator, v: Vector) -> Vector:
        if self.solver == "cg":
            return conjugate_gradients(hessian, v, self.terms)
        return neumann_series(hessian, v, self.terms, self.scale)

    def held(self, n: int, sizes: Sizes) -> int:
        """Return how many bytes are held, whatever the number n of steps, without the working memory of a backward pass."""
        del n
        return 4 * sizes.params


def _hessian(problem: InnerProblem, point: Point, damping: float) -> Operator:
    """Return the product with the mean training loss's Hessian at a point, with the damping on its diagonal."""

    def product(direction: Vector) -> Vector:
        total = [torch.zeros_like(part) + damping * part for part in direction]
        for i in range(problem.steps):
            found, _ = _products(problem, point, i, direction)
            total = [part + 1 / problem.steps * new for part, new in zip(total, found, strict=True)]
        return tuple(total)

    return product


def _products(problem: InnerProblem, point: Point, i: int, direction: Vector) -> tuple[Vector, Signals]:
    """Return H d and (d2L_train/ds dtheta) d of batch i for a direction d."""
    params = leaves(point.params)
    signals = tuple(signal.detach().requires_grad_() for signal in problem.step_signals(i))
    loss = problem.training_loss(params, problem.batch(i), signals)
    gradients = torch.autograd.grad(loss, list(params.values()), create_graph=True, allow_unused=True, materialize_grads=True)
    reached = [(g, d) for g, d in zip(gradients, direction, strict=True) if g.requires_grad]
    found = torch.autograd.grad(
        [g for g, _ in reached],
        [*params.values(), *signals],
        [d for _, d in reached],
        allow_unused=True,
        materialize_grads=True,
    )
    return found[: len(params)], found[len(params) :]
