"""`meta_gradient`: how the student's validation loss after n inner steps depends on the teacher's parameters."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from craik.distill import checks
from craik.distill.examples import Batches, Labelled
from craik.distill.forward.noise import check_repeats, no_draws
from craik.distill.forward.students import student_function
from craik.distill.losses import LabelLoss, SquaredError, TeachingLoss
from craik.distill.optimisers.inner import Inner, InnerState, rule_of
from craik.distill.ranges import positive
from craik.distill.strategies.adjoint import eager_steps, solve_adjoint
from craik.distill.strategies.choices import Adjoint, Checkpoint, Implicit, Strategy, Truncated, Unroll, strategy_of
from craik.distill.strategies.compiled import compiled_steps
from craik.distill.strategies.implicit import solve_implicitly
from craik.distill.strategies.inner_problem import Point, Problem, Solved
from craik.distill.strategies.segments import segment_length, solve_in_segments
from craik.distill.teachers.hoisting import Teaching, unpack
from craik.params import Params, parameters_of


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


def meta_gradient(
    student: nn.Module,
    teacher: nn.Module,
    batches: Batches,
    validation: Labelled,
    *,
    layers: Sequence[str],
    inner: Inner | torch.optim.Optimizer,
    label_loss: LabelLoss,
    alpha: float,
    teaching_loss: TeachingLoss = SquaredError(),  # noqa: B008  # a frozen dataclass
    strategy: Strategy | str = "unroll",
    start: InnerState | None = None,
    statistics: str = "per-batch",
    chunk: int | None = None,
    autocast: torch.dtype | None = None,
    clip: float | None = 1e8,
) -> MetaGradient:
    """Differentiate the student's validation loss through n of its own training steps, by the teacher's parameters.

    Algorithm 1 of the paper: from theta_0, the student's present parameters, n inner steps on L_train = L_y + alpha L_h, one on
    each batch; then L_val = L_y at theta_n on the validation data, and dL_val/dphi. Student and teacher keep their parameters,
    buffers, gradients and modes; the optimiser is read only. BatchNorm in train mode normalises with each batch and leaves
    its running averages alone. Random layers in train mode are refused.

    Args:
        student: any module; its trainable parameters unroll. It is called with the batch's x, and hooks read its layers.
        teacher: any module over privileged data whose output is a `craik.distill.TeacherOutput`: targets (and gates) for
            each supervised layer.
        batches: (n, B, ...) inputs, privileged data and labels, in the order of the inner steps.
        validation: inputs and labels of the outer loss.
        layers: paths of the student's supervised layers, as in `named_modules`; "" is its output. What they return, before
            whatever comes after them, is h.
        inner: the inner optimiser: `SGD`, `Adam`, or one of torch's that has a counterpart (its settings alone are read).
        label_loss: L_y, from predictions and labels to (B,) unreduced losses.
        alpha: the teaching coefficient.
        teaching_loss: L_h, from hidden activations and targets to (B,) unreduced losses.
        strategy: how to differentiate: "unroll", "checkpoint" and "adjoint" are exact; "truncated" and "implicit" are
            approximations. A name, or an instance with settings such as ``Adjoint(compile=True)``.
        start: the inner optimiser's state before the first step; None starts fresh. See `state_from` for a warm start.
        statistics: what BatchNorm of the teacher normalises with: "per-batch" (exact) or "pooled" over all n batches (another
            gradient).
        chunk: how many batches the teacher holds activations of at a time, at the price of a second forward pass; None for all.
        autocast: the teacher's precision, such as torch.bfloat16 (an approximation); None leaves it as it is. A teacher in
            float64 is unaffected: torch's autocast converts no float64.
        clip: components are clipped to [-clip, clip] (thesis appendix C.2.2.2: 1e8); None leaves them.

    Raises:
        ValueError: data, layers, targets or losses that do not fit each other, or settings out of range; the message says
            which.
        TypeError: an optimiser that cannot be differentiated; inputs in another precision than the module's; a strategy or
            an optimiser that is none, such as a class.
        FloatingPointError: a loss that is NaN or infinite; the message says at which inner step.
    """
    chosen = strategy_of(strategy)
    rule = rule_of(inner)
    check_clip(clip)
    checks.check_modules(student, teacher)
    checks.check_layers(student, layers)
    checks.check_batches(*batches)
    checks.check_labelled("Validation data", *validation)
    teaching = Teaching(teacher, layers, statistics=statistics, chunk=chunk, autocast=autocast)
    with no_draws("teacher", teacher):
        hoisted = teaching.hoist(batches.privileged)
        first = [signal[:1] for signal in hoisted.signals]
        check_repeats("teacher", first, lambda: teaching.signals(batches.privileged[:1])[0])
    params = parameters_of(student)
    point = Point(params, start if start is not None else rule.init(params))
    with student_function(student, layers) as function:
        problem = Problem(
            function, batches, hoisted.signals, hoisted.layout, validation, point, rule, alpha, teaching_loss, label_loss
        )
        check_fit(problem, student)
        solved = solve(problem, chosen, student)
    return _meta_gradient(solved, teaching.pull_back(hoisted, batches.privileged, solved.cotangents), clip)


def solve(problem: Problem, strategy: Strategy, student: nn.Module) -> Solved:
    """Differentiate the inner problem with respect to its signals; compiled steps are kept for the student."""
    n = problem.steps
    match strategy:
        case Unroll():
            return solve_in_segments(problem, [0])
        case Checkpoint(segments=segments):
            return solve_in_segments(problem, range(0, n, segment_length(n, segments)))
        case Truncated(last=last):
            return solve_in_segments(problem, [max(0, n - last)])
        case Adjoint(compile=True, backend=backend):
            return solve_adjoint(problem, compiled_steps(problem, student, backend))
        case Adjoint():
            return solve_adjoint(problem, eager_steps(problem))
        case Implicit():
            return solve_implicitly(problem, strategy)


def check_fit(problem: Problem, student: nn.Module) -> None:
    """Refuse random numbers, and signals whose shapes differ from the supervised layers' outputs: two passes of a batch."""
    x, y = problem.batch(0)

    def outputs() -> list[Tensor]:
        prediction, hidden = problem.student(problem.start.params, x)
        checks.check_targets(hidden, unpack(problem.step_signals(0), problem.layout))
        losses = problem.label_loss(prediction, y)
        checks.check_losses("label", losses, len(x))
        return [*hidden.values(), losses]

    with torch.no_grad(), no_draws("student", student):
        check_repeats("student", outputs(), outputs)


def check_clip(clip: float | None) -> None:
    """Refuse bounds that are not positive."""
    if clip is not None:
        positive(clip=clip)


def _meta_gradient(solved: Solved, gradients: Params, clip: float | None) -> MetaGradient:
    flat = torch.cat([gradient.flatten() for gradient in gradients.values()])
    finite = torch.isfinite(flat)
    beyond = finite & (flat.abs() > clip) if clip is not None else torch.zeros_like(finite)
    counts = torch.stack([(~finite).sum(), beyond.sum()]).tolist()
    if counts[1] and clip is not None:
        gradients = {name: torch.where(g.isfinite(), g.clamp(-clip, clip), g) for name, g in gradients.items()}
    return MetaGradient(gradients, solved.validation_loss, solved.training_losses, counts[0], counts[1], solved.params)
