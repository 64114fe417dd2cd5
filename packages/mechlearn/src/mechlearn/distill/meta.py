"""`meta_gradient`: how the student's validation loss after n inner steps depends on the teacher's parameters."""

import math
from collections.abc import Collection
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn import arguments
from mechlearn.distill.examples.batches import Batches, Labelled, check_batches, check_labelled
from mechlearn.distill.forward.noise import no_draws
from mechlearn.distill.forward.students import student_function
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.optimisers.counterparts import rule_of, unrolled_by
from mechlearn.distill.optimisers.inner import Inner, InnerState
from mechlearn.distill.strategies import Strategy, Unroll, check_strategy
from mechlearn.distill.strategies.coefficients import measured
from mechlearn.distill.strategies.fit import check_fit, check_start
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point, Solved
from mechlearn.distill.strategies.unrolling import check_clip
from mechlearn.distill.teachers.hoisting import Teaching
from mechlearn.functional import borrowed
from mechlearn.params import Params, parameters_of


class MetaGradient(NamedTuple):
    """What `meta_gradient` returns: of the paper's algorithm 1, lines 1 to 11 and the gradient in equation 1.

    Attributes:
        gradients: dL_val/dphi by the teacher's parameter names, detached.
        validation_loss: the label loss at theta_n on the validation data, a scalar.
        training_losses: (n,) L_train = L_y + alpha L_h at each inner step.
        nonfinite: how many components of the meta-gradient are NaN or infinite. They stand in `gradients` as they are.
        clipped: how many finite components were clipped.
        student: theta_n, the student's parameters after the unroll; the student itself still has theta_0.
    """

    gradients: Params
    validation_loss: Float[Tensor, ""]
    training_losses: Float[Tensor, " n"]
    nonfinite: int
    clipped: int
    student: Params


@arguments.worded
@torch.enable_grad()
def meta_gradient(
    lesson: Lesson,
    batches: Batches,
    validation: Labelled,
    inner: Inner | torch.optim.Optimizer,
    strategy: Strategy = Unroll(),  # noqa: B008  # a frozen dataclass
    start: InnerState | None = None,
    clip: float | None = 1e8,
) -> MetaGradient:
    """Differentiate the student's validation loss through n of its own training steps, by the teacher's parameters.

    Algorithm 1 of the paper: from theta_0, the student's present parameters, n inner steps on L_train = L_y + alpha L_h, one on
    each batch; then L_val = L_y at theta_n on the validation data, and dL_val/dphi. Student and teacher keep their parameters,
    buffers, gradients and modes; the optimiser is read only. BatchNorm in train mode normalises with each batch and leaves
    its running averages alone. Random layers in train mode are refused.

    Args:
        lesson: student, teacher and their losses.
        batches: (n, B, ...) inputs, privileged data and labels, in the order of the inner steps.
        validation: inputs and labels of the outer loss.
        inner: the inner optimiser: `SGD`, `Adam`, or one of torch's that has a counterpart, whose settings are read. One of
            torch's that holds a part of the student unrolls that part; the rest is constant.
        strategy: how to differentiate: `Unroll`, `Checkpoint` and `Adjoint` are exact; `Truncated` and `Implicit` are
            approximations.
        start: the inner optimiser's state before the first step; None starts fresh. See `state_from` for a warm start.
        clip: components are clipped to [-clip, clip] (thesis appendix C.2.2.2: 1e8); None leaves them.

    Returns:
        The gradient by the teacher's parameters, and the losses on the path there.

    Raises:
        ValueError: data, layers, targets or losses that do not fit each other, or settings out of range; the message says
            which.
        TypeError: an optimiser that cannot be differentiated; inputs in another precision than the module's; a strategy or
            anything but an optimiser, such as a class.
        FloatingPointError: a loss that is NaN or infinite; the message says at which inner step, and what the cause is where
            it lies in the data.
        RuntimeError: within torch.inference_mode().
    """
    arguments.check_kind("lesson", lesson, Lesson, "a mechlearn.distill.Lesson")
    check_strategy(strategy)
    rule = rule_of(inner)
    check_clip(clip)
    lesson.check_modules()
    batches, validation = check_batches(batches), check_labelled(validation)
    arguments.check_graphs("A meta-gradient should be found")
    teaching = Teaching(lesson.teacher, lesson.layers, lesson.hoisting)
    own = {name: tensor.clone() for name, tensor in parameters_of(lesson.student).items()}  # a pass may write into them
    names = unrolled_by(inner, lesson.student)
    params = {name: own[name] for name in names}
    point = Point(params, rule.init(params) if start is None else _of_part(start, names))
    check_start(point, rule)
    with borrowed(lesson.student, lesson.teacher):
        hoisted = teaching.checked_hoist(batches.privileged)
        with student_function(lesson.student, lesson.layers, names) as function:
            problem = InnerProblem(function, lesson, batches, hoisted.signals, hoisted.layout, validation, point, rule)
            check_fit(problem)
            problem = measured(problem)
            with no_draws("An inner step", lesson.student, (lesson.label_loss, lesson.teaching_loss)):
                solved = strategy.solve(problem)
        del problem
        hoisted = hoisted._replace(signals=())  # read no more, and as large as their gradients
        gradients = teaching.pull_back(hoisted, batches.privileged, solved.cotangents)
    return finished(solved._replace(params=own | solved.params), gradients, clip)


def _of_part(start: InnerState, names: Collection[str]) -> InnerState:
    """Return a state without the moments of parameters that do not unroll; anything but a state is refused elsewhere."""
    if not isinstance(start, InnerState):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's
        return start
    parts = {moment: {n: one for n, one in values.items() if n in names} for moment, values in start.moments.items()}
    return start._replace(moments=parts)


def finished(solved: Solved, gradients: Params, clip: float | None) -> MetaGradient:
    """Count and clip the components of a meta-gradient."""
    others, beyond = 0, 0
    reach = _reach(gradients)
    if not math.isfinite(reach) or (clip is not None and reach > clip):
        sums = (torch.stack(found).sum() for found in zip(*(_counts(g, clip) for g in gradients.values()), strict=True))
        others, beyond = torch.stack(list(sums)).tolist()
    if beyond and clip is not None:
        gradients = {name: _within(gradient, clip) for name, gradient in gradients.items()}
    return MetaGradient(gradients, solved.validation_loss, solved.training_losses, others, beyond, solved.params)


def _reach(gradients: Params) -> float:
    """Return the largest magnitude of a component, NaN where one is none: one look where there is nothing to count."""
    ends = [end for gradient in gradients.values() if gradient.numel() for end in gradient.aminmax()]
    return float(torch.stack(ends).abs().max()) if ends else 0.0


def _within(gradient: Tensor, clip: float) -> Tensor:
    """Return a gradient whose finite components are clipped; of a half type that cannot say the bound, none are."""
    bound = min(clip, torch.finfo(gradient.dtype).max)
    return torch.where(gradient.isfinite(), gradient.clamp(-bound, bound), gradient)


def _counts(gradient: Tensor, clip: float | None) -> tuple[Tensor, Tensor]:
    """Return how many components are no numbers, and how many are finite and beyond the clip."""
    # Tensor by tensor: a copy of all of them side by side would be as large as the teacher.
    finite = torch.isfinite(gradient)
    beyond = torch.zeros_like(finite) if clip is None else finite & (gradient.abs() > clip)
    return (~finite).sum(), beyond.sum()
