"""The student's ordinary steps under a teacher that does not change: within a round, or for a student from its start."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Generator, Tensor

from mechlearn import arguments
from mechlearn.distill.examples.batches import Examples, check_examples
from mechlearn.distill.examples.causes import Read
from mechlearn.distill.examples.inputs import Inputs, at
from mechlearn.distill.examples.splits import Split, check_batch_size
from mechlearn.distill.examples.streams import Stream
from mechlearn.distill.forward.calls import check_called
from mechlearn.distill.forward.precision import precision
from mechlearn.distill.forward.students import Captured, captured
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.optimisers.counterparts import check_optimizer
from mechlearn.distill.records import StudentRecord, check_finite_step
from mechlearn.distill.saving.undoing import buffers_of, undone_on_failure
from mechlearn.distill.strategies.coefficients import coefficient
from mechlearn.distill.teachers.hoisting import Teaching
from mechlearn.distill.teachers.signals import unpack
from mechlearn.distill.teachers.targets import Targets, check_targets
from mechlearn.functional import borrowed

AT_A_TIME = 64
"""Batches whose targets are held together."""


@arguments.worded
def teach(
    lesson: Lesson, examples: Examples, optimizer: torch.optim.Optimizer, *, steps: int, batch_size: int, generator: Generator
) -> StudentRecord:
    """Train a student under a teacher that does not change, such as a fresh student under a trained teacher.

    The teacher needs no validation data any more: the student learns from all examples. ``teach(replace(lesson,
    student=fresh), examples, Adam(fresh.parameters()), steps=..., batch_size=..., generator=...)`` is the whole of it. If it
    fails, the student is as it was.

    Args:
        lesson: who teaches whom.
        examples: all of them, in shuffled passes; take some with ``examples.rows(...)``.
        optimizer: torch optimiser of the student's parameters.
        steps: how many.
        batch_size: examples of a step.
        generator: of the batches.

    Returns:
        The losses' means over all steps.

    Raises:
        ValueError, TypeError: as `Distillation` and its `student_steps`.
        FloatingPointError: a loss or a gradient that is not finite.
    """
    arguments.check_kind("lesson", lesson, Lesson, "a mechlearn.distill.Lesson")
    examples = check_examples(examples)
    arguments.check_whole("steps", steps, 1)
    arguments.check_whole("batch_size", batch_size, 1)
    arguments.check_generator("generator", generator)
    check_optimizer("optimizer", optimizer, lesson.student)
    rows = torch.arange(len(examples.y))
    check_batch_size(batch_size, Split(rows, rows[:0]))
    stream = Stream(rows, batch_size, generator)
    records: list[tuple[int, StudentRecord]] = []
    course = _Course(lesson, optimizer)
    with undone_on_failure(generator, (stream,), lesson.student, optimizer):
        for first in range(0, steps, AT_A_TIME):
            count = min(AT_A_TIME, steps - first)
            records.append((count, course.steps(examples.rows(stream.take(count)))))
    return StudentRecord(*(sum(count * record[k] for count, record in records) / steps for k in range(2)))


def ordinary_steps(lesson: Lesson, rows: Examples, optimizer: torch.optim.Optimizer) -> StudentRecord:
    """Take one step of the student on L_y + alpha L_h with each batch of (n, B, ...) rows.

    Args:
        lesson: with the current teacher.
        rows: the batches.
        optimizer: of the student.

    Raises:
        ValueError: a teacher that draws random numbers; layers, targets or losses that do not fit.
        FloatingPointError: a loss that is not finite.
        RuntimeError: within torch.inference_mode().
    """
    return _Course(lesson, optimizer).steps(rows)


class _Course:
    """Ordinary steps that belong together: the teacher is looked at once, and a relative alpha is measured once."""

    def __init__(self, lesson: Lesson, optimizer: torch.optim.Optimizer) -> None:
        self.lesson, self.optimizer = lesson, optimizer
        self.teaching = Teaching(lesson.teacher, lesson.layers, replace(lesson.hoisting, statistics="per-batch"))
        self.alpha: float | Tensor | None = None
        self.taken = 0

    def steps(self, rows: Examples) -> StudentRecord:
        """Take a step with each of the batches."""
        arguments.check_graphs("Ordinary steps should be taken")
        lesson, optimizer = self.lesson, self.optimizer
        with borrowed(lesson.teacher):
            signals, layout = (self.teaching.signals if self.taken else self.teaching.checked_signals)(rows.privileged)
        label_losses: list[float] = []
        teaching_losses: list[float] = []
        with captured(lesson.student, lesson.layers) as found, torch.enable_grad():
            for i, y in enumerate(rows.y):
                forget_casts(y.device)
                x = at(rows.x, i)
                targets = [signal[i] for signal in signals]
                label_loss, teaching_loss, prediction = _losses(lesson, x, y, found, unpack(targets, layout))
                label_losses.append(label_loss.item())
                teaching_losses.append(teaching_loss.item())
                read = _reader(x, at(rows.privileged, i), y, targets, lesson)
                check_finite_step(label_losses[-1], teaching_losses[-1], self.taken, read, prediction)
                if self.alpha is None:
                    self.alpha = coefficient(lesson, label_loss, teaching_loss, _trained(lesson))
                optimizer.zero_grad()
                (label_loss + self.alpha * teaching_loss).backward()
                _check_gradients(lesson, self.taken)
                optimizer.step()
                self.taken += 1
        optimizer.zero_grad()
        return StudentRecord(sum(label_losses) / len(label_losses), sum(teaching_losses) / len(teaching_losses))


def _check_gradients(lesson: Lesson, taken: int) -> None:
    """Reject gradients that are not finite, as a finite loss may have.

    Raises:
        FloatingPointError: says of which parameter; the student has not moved.
    """
    own = {name: p.grad for name, p in lesson.student.named_parameters() if p.grad is not None}
    place = arguments.first_nonfinite(list(own.values()))
    if place is not None:
        raise FloatingPointError(
            f"Every gradient should be finite. Found NaN or infinity in that of {list(own)[place]!r}, of a finite loss at step "
            f"{taken + 1}. Look for roots, logarithms and divisions at their ends in student and losses."
        )


def forget_casts(device: torch.device) -> None:
    """Let go of the weights that an outer `torch.autocast` has converted: the step before has moved them."""
    if torch.is_autocast_enabled(device.type):
        torch.clear_autocast_cache()


def _losses(lesson: Lesson, x: Inputs, y: Tensor, found: Captured, targets: Targets) -> tuple[Tensor, Tensor, object]:
    """Return L_y and L_h of a batch, and the prediction; a forward pass fills what is captured."""
    with precision("student", x, lesson.student):
        prediction = found.passed(lesson.student, x, buffers_of(lesson.student) if found.begins else None)
    check_called(lesson.layers, found.hidden, found.counts)
    check_targets(found.hidden, targets)
    taught = lesson.teaching_losses(found.hidden, targets, len(y))
    return lesson.label_losses(prediction, y).mean(), taught.mean(), prediction


def _reader(x: Inputs, privileged: Inputs, y: Tensor, signals: Sequence[Tensor], lesson: Lesson) -> Callable[[], Read]:
    return lambda: Read(x, privileged, y, signals, lesson.student.parameters())


def _trained(lesson: Lesson) -> list[Tensor]:
    return [parameter for parameter in lesson.student.parameters() if parameter.requires_grad]
