"""`Distillation`: one meta-step of the teacher, then N ordinary steps of the student, again and again; resumable to the bit."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator

from mechlearn import arguments
from mechlearn.distill.examples.batches import Batches, Examples, Labelled, check_examples
from mechlearn.distill.examples.splits import Split, check_batch_size, check_split, check_validation_rows, check_validation_size
from mechlearn.distill.examples.streams import Stream
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.meta import meta_gradient
from mechlearn.distill.optimisers.counterparts import check_optimizer
from mechlearn.distill.optimisers.warm_start import check_pair, state_from
from mechlearn.distill.ordinary import ordinary_steps
from mechlearn.distill.records import MetaRecord, StudentRecord, Taught
from mechlearn.distill.saving.states import check_state, load_parts
from mechlearn.distill.saving.undoing import undone_on_failure
from mechlearn.distill.strategies.inner_problem import DivergedError
from mechlearn.distill.strategies.unrolling import Unrolling
from mechlearn.distill.teachers.descent import diverged_meta_gradient, move_teacher
from mechlearn.params import dot


class Distillation:
    """Learning to distill trajectories: a teacher with privileged data learns to set targets for a student without.

    `step` is one round: a meta-step (`meta_step`: theta is put back after the unroll) and N student steps with the new teacher
    (`student_steps`). Student, teacher and both optimisers stay the caller's; read the student whenever you like.

    Source: thesis section 4.3.4; paper section 3.4. A meta-step is algorithm 1; clipping is that of thesis appendix C.

    Args:
        lesson: who teaches whom, at which layers and by which losses.
        examples: the training data (without the test set); baselines train on all of it.
        split: which rows train the student and which the teacher; see `split_rows`. Without validation rows the teacher is
            never trained: `student_steps` alone can be taken.
        unrolling: the meta-steps' inner optimiser, length and batches, and how they are differentiated.
        student_optimizer: torch optimiser of the student's parameters, for the ordinary steps.
        meta_optimizer: torch optimiser of the teacher's parameters.
        generator: of all batches (and redrawn splits); its state is part of `state_dict`.

    Raises:
        ValueError: a split whose rows do not exist, come twice or are in both parts, fewer training rows than a batch, data
            that does not line up, optimisers that lack parameters, moments that the student's optimiser does not keep.
        TypeError: a student's optimiser that cannot be differentiated, where it should be.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from mechlearn.distill import Distillation, Examples, Lesson, UnitsTeacher, Unrolling, split_rows
        >>> generator = torch.Generator().manual_seed(0)
        >>> student, teacher = nn.Linear(4, 1), UnitsTeacher(nn.Linear(2, 1), {"": 1})
        >>> lesson = Lesson(student, teacher, [""], lambda prediction, y: (prediction[:, 0] - y) ** 2, alpha=1.0)
        >>> distillation = Distillation(
        ...     lesson,
        ...     Examples(torch.randn(40, 4), torch.randn(40, 2), torch.randn(40)),  # inputs, privileged data, labels
        ...     split_rows(40, validation=0.5, generator=generator),
        ...     Unrolling("student", steps=2, batch_size=10),
        ...     torch.optim.SGD(student.parameters(), lr=0.1),
        ...     torch.optim.Adam(teacher.parameters()),
        ...     generator,
        ... )
        >>> distillation.step(student_steps=3).meta.validation_loss > 0
        True
    """

    @arguments.worded
    def __init__(
        self,
        lesson: Lesson,
        examples: Examples,
        split: Split,
        unrolling: Unrolling,
        student_optimizer: torch.optim.Optimizer,
        meta_optimizer: torch.optim.Optimizer,
        generator: Generator,
    ) -> None:
        arguments.check_kind("lesson", lesson, Lesson, "a mechlearn.distill.Lesson")
        examples = check_setting(examples, split, unrolling, generator)
        check_optimizer("student_optimizer", student_optimizer, lesson.student)
        check_optimizer("meta_optimizer", meta_optimizer, lesson.teacher)
        self.lesson, self.examples, self.split, self.unrolling = lesson, examples, split, unrolling
        self.student_optimizer, self.meta_optimizer, self.generator = student_optimizer, meta_optimizer, generator
        self._inner_rows = Stream(split.training, unrolling.batch_size, generator)
        self._student_rows = Stream(split.training, unrolling.batch_size, generator)
        rule = unrolling.rule(student_optimizer)  # an optimiser that has no differentiable counterpart is refused here
        if unrolling.moments == "student":
            check_pair(student_optimizer, lesson.student, rule)

    def step(self, student_steps: int) -> Taught:
        """Take a meta-step, then N student steps.

        Args:
            student_steps: N.

        Raises:
            ValueError, FloatingPointError: as `meta_step` and `student_steps` do; each of the two changes nothing where it
                fails.
        """
        arguments.check_whole("student_steps", student_steps, 1)
        return Taught(self.meta_step(), self.student_steps(student_steps))

    def meta_step(self) -> MetaRecord:
        """Move the teacher once along the meta-gradient; the student keeps its parameters (algorithm 1).

        Raises:
            ValueError: a split without validation rows.
            FloatingPointError: a loss that is not finite because of what was read, or with ``nonfinite="raise"`` an unroll that
                diverged, or a component of the meta-gradient that is not finite; the teacher was not moved then, and nothing
                else was changed.
        """
        check_validation_rows(self.split)
        check_optimizer("meta_optimizer", self.meta_optimizer, self.lesson.teacher)
        split = self.split
        try:
            with undone_on_failure(self.generator, (self._inner_rows, self._student_rows)):
                return self._meta_step()
        except BaseException:
            self.split = split
            raise

    def _meta_step(self) -> MetaRecord:
        if self.split.splitting == "redrawn":
            self._redraw()
        plan = self.unrolling
        rule = plan.rule(self.student_optimizer)
        inner = plan.inner if isinstance(plan.inner, torch.optim.Optimizer) else rule  # torch's may hold a part of the student
        try:
            found = meta_gradient(
                self.lesson,
                Batches(*self.examples.rows(self._inner_rows.take(plan.steps))),
                validation_batch(self.examples, self.split, self.unrolling, self.generator),
                inner,
                plan.strategy,
                start=state_from(self.student_optimizer, self.lesson.student, rule) if plan.moments == "student" else None,
                clip=plan.clip,
            )
        except DivergedError as unroll:
            if plan.nonfinite == "raise":
                raise
            found = diverged_meta_gradient(self.lesson.teacher, unroll)
        norm = math.sqrt(float(dot(found.gradients, found.gradients)))
        loss = found.validation_loss.item()
        skipped = move_teacher(self.lesson.teacher, self.meta_optimizer, found, plan.nonfinite)
        return MetaRecord(loss, found.training_losses, found.nonfinite, found.clipped, norm, skipped)

    @arguments.worded
    def student_steps(self, count: int) -> StudentRecord:
        """Take ordinary steps of the student on L_y + alpha L_h with the current teacher.

        Args:
            count: how many.

        Raises:
            ValueError: no steps; a supervised layer that the student does not call; targets or losses of another shape.
            FloatingPointError: a loss that is not finite.

        If it fails, nothing has changed: neither student nor optimiser, nor the place in the data.
        """
        arguments.check_whole("count", count, 1)
        check_optimizer("student_optimizer", self.student_optimizer, self.lesson.student)
        with undone_on_failure(self.generator, (self._student_rows,), self.lesson.student, self.student_optimizer):
            return ordinary_steps(self.lesson, self.examples.rows(self._student_rows.take(count)), self.student_optimizer)

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed run needs: both modules, both optimisers, split, position in the data, generator.

        As with torch's own state dictionaries the tensors are the live ones: save it, or copy it, before going on.
        """
        return {
            **{name: part.state_dict() for name, part in self._parts().items()},
            "split": self.split.rows(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken, to the bit; if that fails, everything is as it was.

        Raises:
            KeyError, RuntimeError, ValueError: a state of other modules, optimisers or data.
        """
        check_state(state, self.state_dict(), len(self.examples.y))
        load_parts(self._parts(), state)
        device = self.split.training.device
        self.split = self.split._replace(**{name: rows.to(device) for name, rows in state["split"].items()})
        self.generator.set_state(state["generator"].cpu())

    def _parts(self) -> dict[str, Any]:
        return {
            "student": self.lesson.student,
            "teacher": self.lesson.teacher,
            "student_optimizer": self.student_optimizer,
            "meta_optimizer": self.meta_optimizer,
            "inner_rows": self._inner_rows,
            "student_rows": self._student_rows,
        }

    def _redraw(self) -> None:
        self.split = self.split.redrawn(self.generator)
        self._inner_rows.restart(self.split.training)
        self._student_rows.restart(self.split.training)


def check_setting(examples: Examples, split: Split, unrolling: Unrolling, generator: Generator) -> Examples:
    """Return the examples as modules get them; refuse what does not fit."""
    arguments.check_kind("unrolling", unrolling, Unrolling, "a mechlearn.distill.Unrolling")
    arguments.check_generator("generator", generator)
    examples = check_examples(examples)
    check_split(split, len(examples.y))
    check_batch_size(unrolling.batch_size, split)
    check_validation_size(unrolling.validation_size, split)
    return examples


def validation_batch(examples: Examples, split: Split, unrolling: Unrolling, generator: Generator) -> Labelled:
    """Return the validation rows that a meta-step looks at: all, or as many drawn ones as the unrolling says."""
    rows = split.validation
    if unrolling.validation_size is not None:
        order = torch.randperm(len(rows), generator=generator, device=generator.device).to(rows.device)
        rows = rows[order[: unrolling.validation_size]]
    part = examples.rows(rows)
    return Labelled(part.x, part.y)
