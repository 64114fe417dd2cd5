"""The adjoint recursion: the unroll's points are kept, its graph is not.

lambda_n = dL_val/dtheta_n, and for i = n-1..0 one vector-Jacobian product of inner step i,
(lambda_i, dL_val/dsignals_i) = (d(theta_{i+1}, moments_{i+1}) / d(theta_i, moments_i, signals_i))^T lambda_{i+1}.
Inside it the training gradient is differentiated once more along one direction, which gives the Hessian-vector product and the
mixed derivative by the signals together. It is formed by a second reverse pass: without a compiler that is several times
faster than forward over reverse, compiled it is no slower, and it needs no operator to have forward-mode derivatives.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mechlearn.distill.forward.noise import check_same_losses
from mechlearn.distill.strategies.inner_problem import Batch, InnerProblem, Point, Solved, leaf_point, pulled_back
from mechlearn.distill.teachers.signals import Signals
from mechlearn.params import leaves

Forward = Callable[[Point, int], tuple[Point, Tensor]]
"""From the point before inner step i, and i, to the point after it and its training loss."""

Backward = Callable[[Point, int, Sequence[Tensor]], tuple[list[Tensor], Signals, Tensor | None]]
"""From the point before inner step i, i and lambda_{i+1} to lambda_i, the gradient by the step's signals, and its training loss
where that is found again."""


class Steps(NamedTuple):
    """An inner step and its vector-Jacobian product."""

    forward: Forward
    backward: Backward


def solve_adjoint(problem: InnerProblem, steps: Steps) -> Solved:
    """Differentiate the validation loss with respect to the signals by the adjoint recursion."""
    points: list[Point] = []
    losses: list[Tensor] = []
    point = problem.start
    for i in range(problem.steps):
        points.append(_needed(problem, point))
        point, loss = steps.forward(point, i)
        losses.append(loss)
    validation_loss, weights = _outer_gradient(problem, point)
    rows: list[Signals] = []
    again: list[Tensor] = []
    for i in reversed(range(problem.steps)):
        weights, row, loss = steps.backward(points.pop(), i, weights)
        rows.append(row)
        again += [] if loss is None else [loss]
    if again:
        check_same_losses(torch.stack(losses), torch.stack(again[::-1]))
    rows.reverse()
    return problem.solved(rows, validation_loss, losses, point.params)


def _needed(problem: InnerProblem, point: Point) -> Point:
    """Return what the backward pass reads of a point: a linear rule's derivative does not depend on its moments."""
    if not getattr(problem.inner, "linear", False):
        return point
    return Point(point.params, problem.start.state._replace(step=point.state.step))


def _outer_gradient(problem: InnerProblem, point: Point) -> tuple[Tensor, list[Tensor]]:
    params = leaves(point.params)
    loss = problem.validation_loss(params)
    found = torch.autograd.grad(loss, list(params.values()), allow_unused=True, materialize_grads=True)
    zeros = [torch.zeros_like(tensor) for tensor in point.tensors()[len(found) :]]
    return loss.detach(), [*found, *zeros]


def eager_steps(problem: InnerProblem) -> Steps:
    """Return the inner step and its product as they stand."""

    def forward(point: Point, i: int) -> tuple[Point, Tensor]:
        return problem.advance(point, problem.batch(i), problem.step_signals(i), graph=False)

    def backward(point: Point, i: int, weights: Sequence[Tensor]) -> tuple[list[Tensor], Signals, Tensor]:
        return step_product(problem, point, problem.batch(i), problem.step_signals(i), weights)

    return Steps(forward, backward)


def step_product(
    problem: InnerProblem, point: Point, batch: Batch, signals: Signals, weights: Sequence[Tensor]
) -> tuple[list[Tensor], Signals, Tensor]:
    """Return the vector-Jacobian product of one inner step with respect to its point and its signals, and its loss."""
    with torch.enable_grad():
        start = leaf_point(point)
        given = tuple(signal.detach().requires_grad_() for signal in signals)
        end, loss = problem.advance(start, batch, given, graph=True)
        inputs = [*start.tensors(), *given]
        found = pulled_back(end.tensors(), weights, inputs)
    count = len(inputs) - len(given)
    return found[:count], tuple(found[count:]), loss
