"""`PopulationDistillation`: rounds of one teacher and several students."""

import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn import arguments
from mechlearn.distill.examples.batches import Batches, Examples
from mechlearn.distill.examples.splits import Split, check_validation_rows
from mechlearn.distill.examples.streams import Streams
from mechlearn.distill.lesson import Lesson, check_apart, check_layers, check_module
from mechlearn.distill.optimisers.counterparts import check_optimizer, check_unrolls_whole
from mechlearn.distill.populations.members import MakeOptimizer, OneByOne, Stacked, check_stackable
from mechlearn.distill.populations.population import Population, check_fresh, start_anew
from mechlearn.distill.records import MetaRecord, StudentRecord
from mechlearn.distill.saving.states import check_state, load_parts
from mechlearn.distill.saving.undoing import undone_on_failure
from mechlearn.distill.step import Distillation, check_setting, validation_batch
from mechlearn.distill.strategies.unrolling import Unrolling
from mechlearn.distill.teachers.descent import move_teacher
from mechlearn.params import dot


class PopulationTaught(NamedTuple):
    """What a round of a population reports.

    Attributes:
        meta: of the teacher's step; losses are means over students.
        student: of the students' ordinary steps, likewise.
        validation_losses: (P,) every student's, after its unroll.
        ages: (P,) rounds of every student, this one included.
        renewed: (P,) who started again after this round.
    """

    meta: MetaRecord
    student: StudentRecord
    validation_losses: Float[Tensor, " p"]
    ages: Int[Tensor, " p"]
    renewed: Bool[Tensor, " p"]


class PopulationDistillation:
    """One teacher learns from several students at once, so that what it asks for serves students it has not met.

    A round (`step`) is a meta-step along the mean of the students' meta-gradients, or along what `Population.combine` makes of
    them, each student unrolled on its own batches; then N ordinary steps of every student; then some start again. With one
    student it is `mechlearn.distill.Distillation`, to the bit.

    Source: thesis chapter 5, outlook ("population-based training").

    Args:
        lesson: of the teacher and the population's first student; layers and losses are everybody's.
        population: the students.
        examples: the training data, everybody's.
        split: as in `Distillation`.
        unrolling: likewise.
        student_optimizer: makes a student's optimiser, ``lambda p: torch.optim.Adam(p, 1e-3)``.
        meta_optimizer: torch optimiser of the teacher's parameters.
        generator: of all batches, redrawn splits and fresh students.

    Raises:
        ValueError, TypeError: as `Distillation`; and students that cannot be stacked, where they should be.
    """

    def __init__(
        self,
        lesson: Lesson,
        population: Population,
        examples: Examples,
        split: Split,
        unrolling: Unrolling,
        student_optimizer: MakeOptimizer,
        meta_optimizer: torch.optim.Optimizer,
        generator: Generator,
    ) -> None:
        _check_population(lesson, population)
        if not isinstance(student_optimizer, type):  # a class, such as torch.optim.Adam, is such a function
            arguments.check_callable("student_optimizer", student_optimizer, "a function from parameters to a torch optimiser")
        self.population, self.generator, self.unrolling = population, generator, unrolling
        self.lesson, self.examples, self.meta_optimizer = lesson, examples, meta_optimizer
        self.ages = torch.zeros(len(population.students), dtype=torch.int64)
        self.rounds = 0
        self._alone: Distillation | None = None
        if len(population.students) == 1:
            optimizer = student_optimizer(lesson.student.parameters())
            given = (examples, split, unrolling, optimizer, meta_optimizer, generator)
            self._alone = Distillation(lesson, *given)
            return
        self.examples = check_setting(examples, split, unrolling, generator)
        check_optimizer("meta_optimizer", meta_optimizer, lesson.teacher)
        check_unrolls_whole(unrolling.inner, population.students)
        self._split = split
        self._members = (Stacked if population.stacked else OneByOne)(lesson, tuple(population.students), student_optimizer)
        if isinstance(self._members, Stacked):
            check_stackable(lesson, unrolling, unrolling.rule(self._members.template))
        given = (split.training, unrolling.batch_size, len(self.ages), generator)
        self._inner_rows, self._student_rows = Streams(*given), Streams(*given)

    @property
    def split(self) -> Split:
        """Which rows train the students and which the teacher."""
        return self._split if self._alone is None else self._alone.split

    def step(self, student_steps: int) -> PopulationTaught:
        """Take a meta-step, then N steps of every student, then renew those whose time has come.

        Args:
            student_steps: N.

        Raises:
            ValueError, FloatingPointError: as `Distillation.step`; or fresh students of another architecture, and then nobody
                started again, and the round is not counted.
        """
        arguments.check_whole("student_steps", student_steps, 1)
        meta, losses = self.meta_step()
        student = self.student_steps(student_steps)
        ages, rounds = self.ages + 1, self.rounds + 1
        renewed = self._renew(losses, ages, rounds)
        self.ages, self.rounds = ages.masked_fill(renewed, 0), rounds
        return PopulationTaught(meta, student, losses, ages, renewed)

    def meta_step(self) -> tuple[MetaRecord, Float[Tensor, " p"]]:
        """Move the teacher once; return the record and every student's validation loss. If it fails, nothing has changed."""
        if self._alone is not None:
            record = self._alone.meta_step()
            return record, torch.tensor([record.validation_loss])
        check_validation_rows(self.split)
        check_optimizer("meta_optimizer", self.meta_optimizer, self.lesson.teacher)
        split = self._split
        try:
            with undone_on_failure(self.generator, (self._inner_rows, self._student_rows)):
                return self._meta_step()
        except BaseException:
            self._split = split
            raise

    def _meta_step(self) -> tuple[MetaRecord, Tensor]:
        if self._split.splitting == "redrawn":
            self._split = self._split.redrawn(self.generator)
            self._inner_rows.restart(self._split.training)
            self._student_rows.restart(self._split.training)
        plan = self.unrolling
        batches = Batches(*self.examples.rows(self._inner_rows.take(plan.steps)))
        validation = validation_batch(self.examples, self._split, plan, self.generator)
        found, losses = self._members.meta_gradient(batches, validation, plan, self.population.combine)
        norm = math.sqrt(float(dot(found.gradients, found.gradients)))
        loss = found.validation_loss.item()
        skipped = move_teacher(self.lesson.teacher, self.meta_optimizer, found, plan.nonfinite)
        return MetaRecord(loss, found.training_losses, found.nonfinite, found.clipped, norm, skipped), losses

    def student_steps(self, count: int) -> StudentRecord:
        """Take ordinary steps of every student with the current teacher.

        Args:
            count: how many each.

        If it fails, nothing has changed: neither students nor optimisers, nor the place in the data.
        """
        if self._alone is not None:
            return self._alone.student_steps(count)
        arguments.check_whole("count", count, 1)
        with ExitStack() as undone:
            undone.enter_context(undone_on_failure(self.generator, (self._student_rows,)))
            for module, optimizer in self._members.moved():
                undone.enter_context(undone_on_failure(self.generator, (), module, optimizer))
            return self._members.student_steps(self.examples.rows(self._student_rows.take(count)))

    def _renew(self, losses: Tensor, ages: Tensor, rounds: int) -> Tensor:
        """Start those students again whose time has come; all of the fresh ones are made before the first is used."""
        population = self.population
        if population.reset is None or population.renew is None:
            return torch.zeros(len(ages), dtype=torch.bool)
        due = population.reset.due(rounds, losses, ages)
        with undone_on_failure(self.generator):
            fresh = {
                p: check_fresh(population.students[p], population.renew(p, self.generator))
                for p in due.nonzero().flatten().tolist()
            }
        for p, student in fresh.items():
            if self._alone is None:
                self._members.start_anew(p, student)
            else:
                start_anew(self.lesson.student, student)
                self._alone.student_optimizer.state.clear()
        return due

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed run needs; the tensors are the live ones."""
        counts = {"ages": self.ages, "rounds": self.rounds}
        if self._alone is not None:
            return {**self._alone.state_dict(), **counts}
        return {
            **{name: part.state_dict() for name, part in self._parts().items()},
            "split": self.split.rows(),
            "generator": self.generator.get_state(),
            **counts,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken, to the bit; if that fails, everything is as it was.

        Raises:
            KeyError, RuntimeError, ValueError: a state of other modules, optimisers or data, or of another number of students.
        """
        check_state(state, self.state_dict(), len(self.examples.y))
        _check_counts(state, len(self.ages))
        if self._alone is not None:
            self._alone.load_state_dict(state)
        else:
            load_parts(self._parts(), state)
            self._members.loaded()
            device = self._split.training.device
            self._split = self._split._replace(**{name: rows.to(device) for name, rows in state["split"].items()})
            self.generator.set_state(state["generator"].cpu())
        self.ages.copy_(state["ages"])
        self.rounds = int(state["rounds"])

    def _parts(self) -> dict[str, Any]:
        own = {"teacher": self.lesson.teacher, "meta_optimizer": self.meta_optimizer}
        return {**own, "inner_rows": self._inner_rows, "student_rows": self._student_rows, **self._members.parts()}


def _check_counts(state: Mapping[str, Any], students: int) -> None:
    """Reject a state of another number of students."""
    arguments.check_ids("ages", state["ages"], students, way_out="Load it into a population of as many students.")
    arguments.check_whole("rounds", state["rounds"])


def _check_population(lesson: Lesson, population: Population) -> None:
    arguments.check_kind("lesson", lesson, Lesson, "a mechlearn.distill.Lesson")
    arguments.check_kind("population", population, Population, "a mechlearn.distill.Population")
    if population.students[0] is not lesson.student:
        raise ValueError("The lesson's student should be the population's first. Found another one. Name it in both.")
    for student in population.students[1:]:
        check_module("student", student)
        check_apart(student, lesson.teacher)
        check_layers(student, lesson.layers)
