"""The implicit hypergradient: an approximation that takes theta_n for a minimum of the mean training loss of the n batches.

At a minimum theta(s) of L(theta, s) the implicit function theorem gives dtheta/ds = - H^-1 d2L/dtheta ds, and with
v = dL_val/dtheta the gradient by the signals is - (d2L/ds dtheta) H^-1 v (Lorraine et al., 2020, equations 2 to 4).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from craik.distill.strategies.choices import Implicit
from craik.distill.strategies.inner_problem import Point, Problem, Solved
from craik.distill.teachers.hoisting import Signals
from craik.params import Params, add_scaled, dot, leaves, zeros_like

Operator = Callable[[Params], Params]


def solve_implicitly(problem: Problem, strategy: Implicit) -> Solved:
    """Take the n steps without a graph, then apply the implicit function theorem at theta_n."""
    point, losses = problem.start, list[Tensor]()
    for i in range(problem.steps):
        point, loss = problem.advance(point, problem.batch(i), problem.step_signals(i), graph=False)
        losses.append(loss)
    params = leaves(point.params)
    validation_loss = problem.validation_loss(params)
    found = torch.autograd.grad(validation_loss, list(params.values()), allow_unused=True, materialize_grads=True)
    v = dict(zip(params, found, strict=True))

    def hessian(direction: Params) -> Params:
        total = add_scaled(zeros_like(direction), strategy.damping, direction)
        for i in range(problem.steps):
            product, _ = _products(problem, point, i, direction)
            total = add_scaled(total, 1 / problem.steps, product)
        return total

    solve = conjugate_gradients if strategy.solver == "cg" else neumann_series(strategy.scale)
    q = solve(hessian, v, strategy.terms)
    rows = [tuple(-mixed / problem.steps for mixed in _products(problem, point, i, q)[1]) for i in range(problem.steps)]
    return problem.solved(rows, validation_loss, losses, point.params)


def _products(problem: Problem, point: Point, i: int, direction: Params) -> tuple[Params, Signals]:
    """Return H d and (d2L_train/ds dtheta) d of batch i for a direction d."""
    params = leaves(point.params)
    signals = tuple(signal.detach().requires_grad_() for signal in problem.step_signals(i))
    loss = problem.training_loss(params, problem.batch(i), signals)
    gradients = torch.autograd.grad(loss, list(params.values()), create_graph=True, allow_unused=True, materialize_grads=True)
    reached = [(g, d) for g, d in zip(gradients, direction.values(), strict=True) if g.requires_grad]
    found = torch.autograd.grad(
        [g for g, _ in reached],
        [*params.values(), *signals],
        [d for _, d in reached],
        allow_unused=True,
        materialize_grads=True,
    )
    return dict(zip(params, found, strict=False)), tuple(found[len(params) :])


def neumann_series(scale: float) -> Callable[[Operator, Params, int], Params]:
    """Return the solver scale * sum_{j < terms} (1 - scale H)^j v, which tends to H^-1 v."""

    def solve(hessian: Operator, v: Params, terms: int) -> Params:
        term, total = v, v
        for _ in range(terms - 1):
            term = add_scaled(term, -scale, hessian(term))
            total = add_scaled(total, 1.0, term)
        return add_scaled(zeros_like(total), scale, total)

    return solve


def conjugate_gradients(hessian: Operator, v: Params, terms: int) -> Params:
    """Return H^-1 v after at most `terms` iterations; H should be positive definite."""
    q, residual, direction = zeros_like(v), v, v
    square = dot(residual, residual)
    for _ in range(terms):
        if float(square) == 0.0:
            break
        image = hessian(direction)
        step = square / dot(direction, image)
        q, residual = add_scaled(q, step, direction), add_scaled(residual, -step, image)
        square, last = dot(residual, residual), square
        direction = add_scaled(residual, square / last, direction)
    return q
