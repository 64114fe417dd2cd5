"""Ours: `craik.distill.meta_gradient` on the problem, with a strategy and a chunk; without a teacher its engine alone."""

from collections.abc import Callable

import torch
from craik_benchmarks.unrolls.methods import Compute
from craik_benchmarks.unrolls.problem import Given, Unrolling
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from craik.distill import SGD, Batches, GatedSquaredError, Labelled, Strategy, UnitsTeacher, meta_gradient
from craik.distill.forward.students import student_function
from craik.distill.meta import solve
from craik.distill.strategies.choices import strategy_of
from craik.distill.strategies.inner_problem import Point, Problem
from craik.params import parameters_of


def label_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return unreduced cross-entropies."""
    return cross_entropy(logits, y, reduction="none")


def prepare_with(
    strategy: Strategy | str, chunk: int | None = None, autocast: torch.dtype | None = None
) -> Callable[[Unrolling], Compute]:
    """Return how a variant of ours prepares a problem."""

    def prepare(problem: Unrolling) -> Compute:
        problem.student.tell = False  # craik reads the layers by hooks
        layers = [f"hidden.{k}" for k in range(5)]
        rule = SGD(problem.lr, problem.momentum, problem.weight_decay)
        batches, validation = Batches(problem.x, problem.privileged, problem.y), Labelled(problem.x_val, problem.y_val)
        loss = GatedSquaredError()
        if isinstance(problem.teacher, Given):
            return lambda: _alone(problem, problem.teacher, layers, rule, batches, validation, loss, strategy_of(strategy))
        widths = dict.fromkeys(layers, problem.student.head.direction.shape[1])
        teacher: nn.Module = UnitsTeacher(problem.teacher, widths, gated=True)

        def compute() -> list[Tensor]:
            found = meta_gradient(
                problem.student,
                teacher,
                batches,
                validation,
                layers=layers,
                inner=rule,
                label_loss=label_loss,
                alpha=problem.alpha,
                teaching_loss=loss,
                strategy=strategy,
                chunk=chunk,
                autocast=autocast,
            )
            return list(found.gradients.values())

        return compute

    return prepare


def _alone(
    problem: Unrolling,
    given: nn.Module,
    layers: list[str],
    rule: SGD,
    batches: Batches,
    validation: Labelled,
    loss: GatedSquaredError,
    strategy: Strategy,
) -> list[Tensor]:
    width = problem.student.head.direction.shape[1]
    stacked = torch.stack([signal.detach() for signal in given.parameters()])
    targets, gates = (half.split(width, 2) for half in stacked.chunk(2, 2))
    signals = tuple(signal for pair in zip(targets, gates, strict=True) for signal in pair)
    params = parameters_of(problem.student)
    layout = tuple((name, True) for name in layers)
    with student_function(problem.student, layers) as function:
        inner = Problem(
            function,
            batches,
            signals,
            layout,
            validation,
            Point(params, rule.init(params)),
            rule,
            problem.alpha,
            loss,
            label_loss,
        )
        found = solve(inner, strategy, problem.student).cotangents
    return list(torch.cat([torch.cat(found[0::2], 2), torch.cat(found[1::2], 2)], 2).unbind(0))
