"""Reverse mode through the unroll, in one piece or in segments that are run again: `unroll`, `checkpoint` and `truncated`.

The steps are cut at boundaries. A first pass without a graph keeps the point at each boundary; the last segment is run with its
graph and the validation loss; the others follow from the last to the first, each run again with its graph and differentiated
with respect to the point it starts from and its signals.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mechlearn.distill.forward.noise import check_same_losses
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point, Solved, leaf_point, pulled_back
from mechlearn.distill.teachers.signals import Signals


def solve_in_segments(problem: InnerProblem, boundaries: Sequence[int]) -> Solved:
    """Differentiate the validation loss with respect to the signals from the first boundary on.

    Args:
        problem: the inner problem.
        boundaries: the steps at which segments start, ascending; what lies before the first is taken without a graph and
            contributes nothing (truncation).
    """
    points, losses = _run(problem, boundaries)
    rows: list[Signals | None] = [None] * problem.steps
    ends = [*boundaries[1:], problem.steps]
    cotangents: list[Tensor] | None = None
    loss, last = torch.zeros(()), problem.start
    for start, end in reversed(list(zip(boundaries, ends, strict=True))):
        point = leaf_point(points.pop(start))
        signals = [tuple(s.requires_grad_() for s in problem.step_signals(i)) for i in range(start, end)]
        reached, segment_losses = _with_graph(problem, point, signals, start)
        if cotangents is None:
            losses += segment_losses
            loss, last = problem.validation_loss(reached.params), reached
            outputs, weights = [loss], None
        else:
            check_same_losses(torch.stack(losses[start:end]), torch.stack(segment_losses), start)
            outputs, weights = reached.tensors(), cotangents
        flat = [signal for row in signals for signal in row]
        found = pulled_back(outputs, weights, [*point.tensors(), *flat])
        cotangents, flat_cotangents = found[: len(point.tensors())], iter(found[len(point.tensors()) :])
        for i, row in enumerate(signals, start):
            rows[i] = tuple(next(flat_cotangents) for _ in row)
    return problem.solved(rows, loss, losses, last.params)


def _run(problem: InnerProblem, boundaries: Sequence[int]) -> tuple[dict[int, Point], list[Tensor]]:
    """Take the steps before the last segment without a graph; return the points at the boundaries, and the losses."""
    points: dict[int, Point] = {}
    losses: list[Tensor] = []
    point = problem.start
    for i in range(boundaries[-1] + 1):
        if i in boundaries:
            points[i] = point
        if i < boundaries[-1]:
            point, loss = problem.advance(point, problem.batch(i), problem.step_signals(i), graph=False)
            losses.append(loss)
    return points, losses


def _with_graph(problem: InnerProblem, point: Point, signals: Sequence[Signals], start: int) -> tuple[Point, list[Tensor]]:
    losses: list[Tensor] = []
    for i, row in enumerate(signals, start):
        point, loss = problem.advance(point, problem.batch(i), row, graph=True)
        losses.append(loss)
    return point, losses
