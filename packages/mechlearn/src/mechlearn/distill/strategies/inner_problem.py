"""The inner problem: what an unroll differentiates, once the teacher's signals are given.

theta_{i+1}, state_{i+1} = inner.update(theta_i, g_i, state_i) with g_i = d L_train(theta_i; batch i, signals i) / d theta_i,
for i = 0..n-1 (algorithm 1, lines 2 to 9), and then L_val(theta_n) (lines 10 and 11).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor

from mechlearn.distill.examples.batches import Batches, Labelled
from mechlearn.distill.examples.causes import Read, cause, loss_cause
from mechlearn.distill.examples.inputs import Inputs, at
from mechlearn.distill.forward.students import StudentFunction
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.optimisers.inner import Inner, InnerState
from mechlearn.distill.teachers.signals import Layout, Signals, unpack
from mechlearn.params import Params, leaves

Batch = tuple[Inputs, Tensor]
"""x and y (B, ...) of an inner step."""


class Point(NamedTuple):
    """Where the student is between two inner steps.

    Attributes:
        params: theta_i.
        state: of the inner optimiser.
    """

    params: Params
    state: InnerState

    def tensors(self) -> list[Tensor]:
        """Return all parameters and moments in a fixed order."""
        return [*self.params.values(), *(tensor for moment in self.state.moments.values() for tensor in moment.values())]

    def filled(self, tensors: Sequence[Tensor]) -> "Point":
        """Return a point of the same layout from tensors in the order of `tensors`."""
        rest = iter(tensors)
        params = {name: next(rest) for name in self.params}
        moments = {moment: {name: next(rest) for name in values} for moment, values in self.state.moments.items()}
        return Point(params, InnerState(self.state.step, moments))


def leaf_point(point: Point) -> Point:
    """Return the same point to differentiate by; what holds no floats, such as a count, is a constant."""
    return point.filled([t.detach().requires_grad_(t.is_floating_point()) for t in point.tensors()])


def pulled_back(outputs: Sequence[Tensor], weights: Sequence[Tensor] | None, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradient by the inputs of sum(weights * outputs), of a scalar without weights; 0 by what nothing depends on.

    What an inner optimiser of the caller's keeps may be constant: moments that are detached, or whole numbers.
    """
    by = [tensor for tensor in inputs if tensor.requires_grad]
    reached = [k for k, output in enumerate(outputs) if output.requires_grad]
    found: list[Tensor] = []
    if reached:
        chosen = None if weights is None else [weights[k] for k in reached]
        found += torch.autograd.grad([outputs[k] for k in reached], by, chosen, allow_unused=True, materialize_grads=True)
    rest = iter(found)
    return [next(rest) if tensor.requires_grad and reached else torch.zeros_like(tensor) for tensor in inputs]


class DivergedError(FloatingPointError):
    """An unroll that left the numbers: the same loss, of the same data, is finite where the unroll began.

    Args:
        message: at which inner step, and what to do.
        training_losses: (n,) L_train at each inner step.
        validation_loss: at theta_n.
    """

    def __init__(self, message: str, training_losses: Tensor, validation_loss: Tensor) -> None:
        super().__init__(message)
        self.training_losses, self.validation_loss = training_losses, validation_loss


class Solved(NamedTuple):
    """What a strategy finds.

    Attributes:
        cotangents: for each signal its gradient (n, B, ...): how the validation loss depends on the teacher's signals.
        validation_loss: at theta_n.
        training_losses: (n,) L_train at each inner step.
        params: theta_n, detached.
    """

    cotangents: Signals
    validation_loss: Tensor
    training_losses: Tensor
    params: Params


class Sizes(NamedTuple):
    """Bytes that an unroll's parts take.

    Attributes:
        step: the graph of an inner step.
        validation: the graph of the validation loss.
        params: theta.
        moments: beside theta, in the inner optimiser's state.
        linear: whether the inner optimiser's step is linear, so that its moments need not be kept.
    """

    step: int
    validation: int
    params: int
    moments: int
    linear: bool

    @property
    def point(self) -> int:
        """Bytes of theta with its moments."""
        return self.params + self.moments


@dataclass(frozen=True)
class InnerProblem:
    """An unroll with everything it depends on.

    Attributes:
        student: the student as a function.
        lesson: its losses are read here, and the student that compiled steps are kept for.
        batches: x and y are read here; the privileged part has become signals.
        signals: each (n, B, ...), constants of the inner problem.
        layout: what the signals are.
        validation: the data of the outer loss.
        start: theta_0 and the state of the inner optimiser.
        inner: the inner optimiser.
    """

    student: StudentFunction
    lesson: Lesson
    batches: Batches
    signals: Signals
    layout: Layout
    validation: Labelled
    start: Point
    inner: Inner

    @property
    def steps(self) -> int:
        """The number n of inner steps."""
        return len(self.batches.y)

    def step_signals(self, i: int) -> Signals:
        """Return the signals (B, ...) of inner step i."""
        return tuple(signal[i] for signal in self.signals)

    def batch(self, i: int) -> Batch:
        """Return x and y (B, ...) of inner step i."""
        return at(self.batches.x, i), self.batches.y[i]

    def training_loss(self, params: Params, batch: Batch, signals: Sequence[Tensor]) -> Tensor:
        """Return L_train = L_y + alpha L_h, both averaged over the batch's examples (algorithm 1, lines 4 to 8)."""
        label_loss, teaching_loss = self.losses(params, batch, signals)
        return label_loss + self.lesson.alpha * teaching_loss

    def losses(self, params: Params, batch: Batch, signals: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return L_y and L_h, averaged over the batch's examples."""
        x, y = batch
        prediction, hidden = self.student(params, x)
        label_losses = self.lesson.label_losses(prediction, y)
        teaching_losses = self.lesson.teaching_losses(hidden, unpack(signals, self.layout), len(y))
        return label_losses.mean(), teaching_losses.mean()

    def validation_loss(self, params: Params) -> Tensor:
        """Return L_val: the label loss alone (algorithm 1, line 11)."""
        prediction, _ = self.student(params, self.validation.x)
        return self.lesson.label_losses(prediction, self.validation.y).mean()

    def advance(self, point: Point, batch: Batch, signals: Sequence[Tensor], *, graph: bool) -> tuple[Point, Tensor]:
        """Take an inner step; with a graph the result can be differentiated by what went in.

        A parameter that the loss of this batch does not depend on stays where it is, and its moments, too: torch's optimisers
        pass over one that has no gradient. The number of steps, which Adam corrects by, is that of all.
        """
        point = point if graph else Point(leaves(point.params), point.state)
        with torch.enable_grad():
            loss = self.training_loss(point.params, batch, signals)
            grads = torch.autograd.grad(loss, list(point.params.values()), create_graph=graph, allow_unused=True)
        found = cast("tuple[Tensor | None, ...]", grads)  # None where nothing depends on it
        gradients = {name: gradient for name, gradient in zip(point.params, found, strict=True) if gradient is not None}
        with torch.set_grad_enabled(graph):
            return self._updated(point, gradients), loss.detach()

    def _updated(self, point: Point, gradients: Params) -> Point:
        """Return the point after a step of those parameters that have a gradient."""
        if len(gradients) == len(point.params):
            return Point(*self.inner.update(point.params, gradients, point.state))
        params, state = point
        left = params.keys() - gradients.keys()
        moments = {moment: {n: t for n, t in values.items() if n not in left} for moment, values in state.moments.items()}
        moved, after = self.inner.update({name: params[name] for name in gradients}, gradients, state._replace(moments=moments))

        def joined(before: Params, new: Params) -> Params:
            """In the order before, which tensors without their names are put back by; and out of place, as a rule's are."""
            return {name: tensor.clone() if name in left else new[name] for name, tensor in before.items()}

        kept = {moment: joined(values, after.moments[moment]) for moment, values in state.moments.items()}
        return Point(joined(params, moved), InnerState(after.step, kept))

    def solved(self, rows: Sequence[Signals | None], loss: Tensor, losses: Sequence[Tensor], params: Params) -> Solved:
        """Stack what was found step by step; None stands for steps that a strategy leaves out."""
        training_losses = torch.stack(list(losses))
        self._check_finite_steps(training_losses, loss)
        self._check_finite_validation(training_losses, loss, params)
        detached = {name: tensor.detach() for name, tensor in params.items()}
        return Solved(self._stacked(rows), loss.detach(), training_losses, detached)

    def _stacked(self, rows: Sequence[Signals | None]) -> Signals:
        """Return signals' gradients (n, B, ...), signal by signal: what is stacked is let go, and not held twice."""
        left = [None if row is None else list(row) for row in rows]
        if isinstance(rows, list):
            rows.clear()
        found: list[Tensor] = []
        for signal in self.signals:
            zero = torch.zeros_like(signal[0])
            found.append(torch.stack([zero if row is None else row.pop(0) for row in left]))
        return tuple(found)

    def _check_finite_steps(self, losses: Tensor, validation: Tensor) -> None:
        """Reject an unroll that left the numbers; say at which inner step, and why."""
        bad = (~torch.isfinite(losses)).nonzero().flatten().tolist()
        if bad:
            i = bad[0]
            message = (
                f"Every inner step's training loss should be finite. Found {losses[i].item()} at inner step {i + 1} "
                f"of {len(losses)}. {self.step_cause(i) or _LOWER} Nothing was changed."
            )
            with torch.no_grad():
                began = self.training_loss(self.start.params, self.batch(i), self.step_signals(i))
            raise _refusal(message, began, losses, validation)

    def _check_finite_validation(self, losses: Tensor, loss: Tensor, params: Params) -> None:
        """Reject a validation loss that is no number."""
        if not bool(torch.isfinite(loss)):
            message = (
                f"The validation loss after the unroll should be finite. Found {loss.item()} after {self.steps} inner steps, "
                f"whose losses were finite. {self.validation_cause(params) or _LOWER} Nothing was changed."
            )
            with torch.no_grad():
                began = self.validation_loss(self.start.params)
            raise _refusal(message, began, losses, loss)

    def step_cause(self, i: int) -> str | None:
        """Return in a sentence why an inner step's loss may be no number; None where what it reads is finite."""
        x, y = self.batch(i)
        params = self.start.params.values()
        found = cause(Read(x, at(self.batches.privileged, i), y, self.step_signals(i), params))
        if found is None:
            with torch.no_grad():
                prediction, _ = self.student(self.start.params, x)
                found = loss_cause(prediction, self.lesson.label_losses(prediction, y))
        return found

    def validation_cause(self, params: Params) -> str | None:
        """Return in a sentence why the validation loss at theta_n may be no number."""
        found = cause(Read(self.validation.x, None, self.validation.y))
        if found is None:
            with torch.no_grad():
                prediction, _ = self.student(params, self.validation.x)
                found = loss_cause(prediction, self.lesson.label_losses(prediction, self.validation.y))
        return found


def _refusal(message: str, began: Tensor, losses: Tensor, validation: Tensor) -> FloatingPointError:
    """Return what refuses a loss that is no number: a divergence where the same loss was one at theta_0, as `began` says."""
    diverged = bool(torch.isfinite(began))
    return DivergedError(message, losses, validation.detach()) if diverged else FloatingPointError(message)


_LOWER = "Lower the inner learning rate or alpha."
