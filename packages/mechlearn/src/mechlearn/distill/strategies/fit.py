"""Whether an inner problem can be differentiated at all: shapes, repetition, and a way for the gradient, on the first batch."""

import torch
from torch import Tensor

from mechlearn import arguments
from mechlearn.distill.forward.noise import check_repeats, no_draws
from mechlearn.distill.optimisers.inner import Inner, InnerState
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point
from mechlearn.distill.teachers.signals import unpack
from mechlearn.distill.teachers.targets import check_targets
from mechlearn.params import Params, leaves

_LOOK = "Look for detach(), no_grad(), .item(), argmax or rounding in it."


def check_fit(problem: InnerProblem) -> None:
    """Reject what would give a wrong meta-gradient, or one of 0, without a word: two passes over the first batch."""
    _check_real(problem.start.params)
    lesson, (x, y), signals = problem.lesson, problem.batch(0), problem.step_signals(0)
    with no_draws("student", lesson.student):
        prediction, hidden = problem.student(leaves(problem.start.params), x)
        check_targets(hidden, unpack(signals, problem.layout))
        with torch.no_grad():
            check_repeats("student", list(hidden.values()), lambda: list(problem.student(problem.start.params, x)[1].values()))
    with no_draws("The label loss", lesson.student, [lesson.label_loss]):
        label_losses = lesson.label_losses(prediction, y)
        check_repeats("The label loss", [label_losses], lambda: [lesson.label_losses(prediction, y)])
    if not label_losses.requires_grad:
        raise ValueError(
            "The label loss should depend on the student's trainable parameters. Found that no gradient leads from one to the "
            f"other: the teacher would never learn. {_LOOK}"
        )
    if not any(h.requires_grad for h in hidden.values()):
        raise ValueError(
            f"A supervised layer should depend on the student's trainable parameters. Found that none of {list(lesson.layers)} "
            "does: the teacher could not move the student. Unfreeze what lies before them, or look for detach() and no_grad()."
        )
    _check_teaching_loss(problem, hidden, len(y))


def _check_real(params: Params) -> None:
    for name, tensor in params.items():
        if tensor.is_complex():
            raise TypeError(
                f"A student that unrolls should have real parameters. Found {name!r} of {tensor.dtype}. Keep its real and "
                "imaginary parts as one real parameter, and take torch.view_as_complex of it in the forward pass."
            )


def _check_teaching_loss(problem: InnerProblem, hidden: dict[str, Tensor], examples: int) -> None:
    lesson, constant = problem.lesson, problem.step_signals(0)
    fixed = {name: h.detach() for name, h in hidden.items()}
    varied = tuple(signal.detach().requires_grad_() for signal in constant)
    with no_draws("The teaching loss", lesson.student, [lesson.teaching_loss]):
        by_student = lesson.teaching_losses(hidden, unpack(constant, problem.layout), examples)
        by_teacher = lesson.teaching_losses(fixed, unpack(varied, problem.layout), examples)
        check_repeats(
            "The teaching loss",
            [by_student],
            lambda: [lesson.teaching_losses(fixed, unpack(constant, problem.layout), examples)],
        )
    for losses, what in ((by_student, "the student's activations"), (by_teacher, "the teacher's targets")):
        if not losses.requires_grad:
            raise ValueError(
                f"The teaching loss should depend on {what}. Found that no gradient leads from one to the other: the teacher "
                f"would never learn. {_LOOK}"
            )


def check_start(start: Point, rule: Inner) -> None:
    """Reject a state of another rule, or of another student."""
    what = "a mechlearn.distill.InnerState"
    arguments.check_kind("start", start.state, InnerState, what, way_out="See mechlearn.distill.state_from.")
    found = {moment: _shapes(values) for moment, values in start.state.moments.items()}
    wanted = {moment: _shapes(values) for moment, values in rule.init(start.params).moments.items()}
    if found != wanted:
        raise ValueError(
            f"`start` should hold the moments {sorted(wanted)} of the inner optimiser, one tensor for each parameter of the "
            f"student. Found {sorted(found)}{' of others' if found.keys() == wanted.keys() else ''}. See "
            "mechlearn.distill.state_from."
        )


def _shapes(tensors: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}
