"""Ours: `mechlearn.distill.meta_gradient` on the problem, with a strategy and a chunk; without a teacher its engine alone."""

from collections.abc import Callable

import torch
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Compute
from mechlearn_zoo_benchmarks.entrants.unrolls.problem import Given, Unrolling
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mechlearn.distill import SGD, Batches, GatedSquaredError, Hoisting, Labelled, Lesson, Strategy, UnitsTeacher, meta_gradient
from mechlearn.distill.forward.students import student_function
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point
from mechlearn.params import parameters_of

LAYERS = [f"hidden.{k}" for k in range(5)]


def label_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return unreduced cross-entropies."""
    return cross_entropy(logits, y, reduction="none")


def prepare_with(
    strategy: Strategy, chunk: int | None = None, autocast: torch.dtype | None = None
) -> Callable[[Unrolling], Compute]:
    """Return how a variant of ours prepares a problem."""

    def prepare(problem: Unrolling) -> Compute:
        problem.student.tell = False  # mechlearn reads the layers by hooks
        rule = SGD(problem.lr, problem.momentum, problem.weight_decay)
        batches, validation = Batches(problem.x, problem.privileged, problem.y), Labelled(problem.x_val, problem.y_val)
        widths = dict.fromkeys(LAYERS, problem.student.head.direction.shape[1])
        alone = isinstance(problem.teacher, Given)
        teacher: nn.Module = problem.teacher if alone else UnitsTeacher(problem.teacher, widths, gated=True)
        hoisting = Hoisting(chunk=chunk, autocast=autocast)
        lesson = Lesson(problem.student, teacher, LAYERS, label_loss, problem.alpha, GatedSquaredError(), hoisting)
        if alone:
            return lambda: _alone(lesson, batches, validation, rule, strategy)
        return lambda: list(meta_gradient(lesson, batches, validation, rule, strategy).gradients.values())

    return prepare


def _alone(lesson: Lesson, batches: Batches, validation: Labelled, rule: SGD, strategy: Strategy) -> list[Tensor]:
    stacked = torch.stack([signal.detach() for signal in lesson.teacher.parameters()])
    targets, gates = (half.chunk(len(LAYERS), 2) for half in stacked.chunk(2, 2))
    signals = tuple(signal for pair in zip(targets, gates, strict=True) for signal in pair)
    params = parameters_of(lesson.student)
    layout = tuple((name, True) for name in LAYERS)
    start = Point(params, rule.init(params))
    with student_function(lesson.student, LAYERS) as function:
        problem = InnerProblem(function, lesson, batches, signals, layout, validation, start, rule)
        found = strategy.solve(problem).cotangents
    return list(torch.cat([torch.cat(found[0::2], 2), torch.cat(found[1::2], 2)], 2).unbind(0))
