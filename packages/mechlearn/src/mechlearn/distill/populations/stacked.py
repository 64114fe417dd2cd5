"""Students as one stack: a leading axis of P on parameters, batches and signals, one unroll for all.

The strategies see one inner problem whose loss is the sum of the students' losses: each student's parameters then have the
gradient that they would have alone, and every step of an inner optimiser that works element by element is theirs. The teacher
runs once over the n P batches of all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad, vmap

from mechlearn.distill.examples.batches import Batches, Labelled
from mechlearn.distill.examples.inputs import Inputs, first, mapped
from mechlearn.distill.lesson import Lesson, with_coefficients
from mechlearn.distill.optimisers.inner import Inner
from mechlearn.distill.strategies.inner_problem import Batch, InnerProblem, Point
from mechlearn.distill.teachers.hoisting import Teaching
from mechlearn.distill.teachers.signals import Signals, pack
from mechlearn.functional import call
from mechlearn.params import Params, constants_of, leaves, map_params, parameters_of
from mechlearn.scaling import widened


@dataclass(frozen=True)
class StackedProblem(InnerProblem):
    """An inner problem of P students: params (P, *shape), batches and signals (n, P, B, ...), one set of validation data."""

    def training_loss(self, params: Params, batch: Batch, signals: Sequence[Tensor]) -> Tensor:
        """Return the sum of the students' training losses."""
        label_losses, teaching_losses = self.losses(params, batch, signals)
        return (label_losses + self.lesson.alpha * teaching_losses).sum()

    def losses(self, params: Params, batch: Batch, signals: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return L_y and L_h of each student, (P,) both."""

        def alone(params: Params, x: Inputs, y: Tensor, signals: Signals) -> tuple[Tensor, Tensor]:
            return InnerProblem.losses(self, params, (x, y), signals)

        return vmap(alone)(params, *batch, tuple(signals))

    def validation_loss(self, params: Params) -> Tensor:
        """Return the sum of the students' validation losses."""
        return self.validation_losses(params).sum()

    def validation_losses(self, params: Params) -> Float[Tensor, " p"]:
        """Return L_val of each student."""

        def alone(params: Params) -> Tensor:
            return InnerProblem.validation_loss(self, params)

        return vmap(alone)(params)

    def step_cause(self, i: int) -> str | None:
        """Return in a sentence why an inner step's loss may be no number, of the first student of which there is one."""
        return next(filter(None, (self.member(p).step_cause(i) for p in range(self._count))), None)

    def validation_cause(self, params: Params) -> str | None:
        """Return in a sentence why the validation loss may be no number, of the first student of which there is one."""
        alone = ({name: tensor[p] for name, tensor in params.items()} for p in range(self._count))
        return next(filter(None, (self.member(p).validation_cause(one) for p, one in enumerate(alone))), None)

    @property
    def _count(self) -> int:
        return len(next(iter(self.start.params.values())))

    def member(self, p: int) -> InnerProblem:
        """Return the problem of one student."""
        batches = self.batches.at((slice(None), p))
        signals = tuple(signal[:, p] for signal in self.signals)
        params = {name: tensor[p] for name, tensor in self.start.params.items()}
        start = Point(params, self.inner.init(params))
        return InnerProblem(self.student, self.lesson, batches, signals, self.layout, self.validation, start, self.inner)

    def measured(self) -> "StackedProblem":
        """Return the problem with a coefficient for each student, where alpha is relative (see `strategies.coefficients`)."""
        if self.lesson.alpha_relative_to is None:
            return self
        params = leaves(self.start.params)
        alpha = coefficients(self.lesson, *self.losses(params, self.batch(0), self.step_signals(0)), params)
        return replace(self, lesson=with_coefficients(self.lesson, alpha))


def coefficients(lesson: Lesson, label_losses: Tensor, teaching_losses: Tensor, params: Params) -> float | Tensor:
    """Return each student's factor of L_h, as `strategies.coefficients.coefficient` does for one: alpha, or (P,)."""
    relative_to = lesson.alpha_relative_to
    if relative_to is None:
        return lesson.alpha
    above, below = (
        loss.detach().abs() if relative_to == "loss" else _norms(loss, params) for loss in (label_losses, teaching_losses)
    )
    alpha = lesson.alpha * above / below
    if not bool(alpha.isfinite().all()):
        raise FloatingPointError(
            "alpha relative to the label loss should have two numbers to be measured by, the second not 0. Found "
            f"{above.tolist()} and {below.tolist()} for the students. Look at the data, or pass alpha_relative_to=None."
        )
    return alpha


def _norms(losses: Tensor, params: Params) -> Float[Tensor, " p"]:
    found = torch.autograd.grad(
        losses.sum(), list(params.values()), retain_graph=True, allow_unused=True, materialize_grads=True
    )
    # Zeros that torch fills in may require a gradient of their own (2.9 and before): nothing here is differentiated.
    squares = [widened(gradient.detach()).reshape(len(gradient), -1).square().sum(1) for gradient in found]
    return torch.stack(squares).sum(0).sqrt()


def stacked_problem(
    student: Callable[[Params, Inputs], tuple[Tensor, dict[str, Tensor]]],
    lesson: Lesson,
    batches: Batches,
    validation: Labelled,
    params: Params,
    rule: Inner,
) -> tuple[StackedProblem, "Lectures"]:
    """Return the inner problem of all students, and the teacher's part of it.

    Args:
        student: any of them as a function of its parameters.
        lesson: of the teacher.
        batches: (n, P, B, ...).
        validation: for all.
        params: (P, *shape) by name.
        rule: the inner optimiser, which works element by element.
    """
    lectures = Lectures(lesson, batches.privileged)
    start = Point(params, rule.init(params))
    problem = StackedProblem(student, lesson, batches, lectures.signals, lectures.layout, validation, start, rule)
    return problem, lectures


class Lectures:
    """The teacher over the (n, P, B, ...) privileged data of P students."""

    def __init__(self, lesson: Lesson, privileged: Inputs) -> None:
        self.teaching = Teaching(lesson.teacher, lesson.layers, lesson.hoisting)
        self.privileged = privileged
        self.shape = first(privileged).shape[:2]
        self.flat = mapped(lambda tensor: tensor.flatten(0, 1), privileged)
        self.hoisted = self.teaching.checked_hoist(self.flat)
        self.signals = tuple(signal.unflatten(0, self.shape) for signal in self.hoisted.signals)
        self.layout = self.hoisted.layout

    def mean(self, cotangents: Signals) -> Params:
        """Return the mean of the students' meta-gradients, by one backward pass."""
        flat = tuple(cotangent.flatten(0, 1) / self.shape[1] for cotangent in cotangents)
        return self.teaching.pull_back(self.hoisted, self.flat, flat)

    def each(self, cotangents: Signals) -> Params:
        """Return every student's meta-gradient, (P, *shape) by name; the teacher runs again."""
        teacher, hoisting = self.teaching.teacher, self.teaching.hoisting
        buffers = {name: buffer.detach() for name, buffer in teacher.named_buffers()}
        frozen = {name: tensor.clone() for name, tensor in constants_of(teacher).items() if name not in buffers}

        def batch_signals(params: Params, copies: Params, batch: Inputs) -> Signals:
            with torch.autocast(first(batch).device.type, hoisting.autocast, enabled=hoisting.autocast is not None):
                given = (self.teaching.own(batch),)
                output = call(teacher, frozen | copies | params, given, whole=True)
            return pack(output, self.teaching.layers)[0]

        def weighted(params: Params, copies: Params, privileged: Inputs, weights: Signals) -> Tensor:
            """Sum cotangents times signals over a student's batches (n, B, ...)."""
            signals = vmap(batch_signals, in_dims=(None, 0, 0))(params, copies, privileged)
            return torch.stack([(signal * weight).sum() for signal, weight in zip(signals, weights, strict=True)]).sum()

        size = None if hoisting.chunk is None else max(1, hoisting.chunk // self.shape[0])
        copies = {name: tensor.expand(*self.shape, *tensor.shape).clone() for name, tensor in buffers.items()}
        of_each = vmap(grad(weighted), in_dims=(None, 1, 1, 1), chunk_size=size)
        found = of_each(map_params(torch.clone, parameters_of(teacher)), copies, self.privileged, tuple(cotangents))
        return {name: gradient.detach() for name, gradient in found.items()}
