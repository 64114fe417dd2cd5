"""Teachers of task A, trained by one student or by a population, then fresh students under each of them, and without any.

The teacher is trained first and stays as it is from there on. What it is worth is then what students learn from it that it
has not met: with other initial weights, and with another width.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import MinLen
from torch import Generator, Tensor, nn

from claimlab import Positive, Preset, Row, Share, check_limits, part
from mechlearn.agreement import AndMask, combine
from mechlearn.distill import (
    Every,
    Examples,
    Lesson,
    Population,
    PopulationDistillation,
    UnitsTeacher,
    Unrolling,
    split_rows,
    teach,
)
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import Count, accuracy, binary_loss, check_split, without_teacher
from mechlearn_zoo.tasks.boards.xor import xor
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import stream

Method = Literal["no-teacher", "lone", "lone-renewed", "population", "and-mask"]
LAYER = "0"


@dataclass(frozen=True)
class Config:
    """Settings of one run; the task, the networks and what is not named here are those of `distill-xor`."""

    seed: int = 100
    """First seed: of the data, the initial weights, the split and the batches."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("no-teacher", "lone", "lone-renewed", "population", "and-mask")
    """Teachers of one student, of one that starts anew, of a population by its mean, and by the AND-mask; and no teacher."""
    inputs: Count = 128
    """D, the dimensions of x."""
    examples: Count = 512
    """Training examples."""
    students: Count = 8
    """P, the students of a population."""
    renewed: Count = 16
    """Rounds after which a student starts anew; in a population at staggered times."""
    agreement: Share = 0.5
    """The AND-mask's threshold over students."""
    rounds: Count = 64
    """Meta-steps of a teacher, each followed by ordinary steps of its students."""
    inner_steps: Count = 32
    """n, the steps of an unroll."""
    student_steps: Count = 32
    """N, ordinary steps after each meta-step."""
    batch: Count = 32
    """Examples of a step."""
    alpha: Positive = 1000.0
    """Teaching coefficient, beside a squared error that is averaged over units."""
    validation: Share = 0.5
    """Share of the training examples that is kept from the students while their teacher is trained."""
    student_lr: Positive = 1e-3
    """Learning rate of the students' Adam, in ordinary and inner steps."""
    meta_lr: Positive = 1e-3
    """Learning rate of the teacher's Adam."""
    units: Count = 32
    """Units of the students' first layer, which is linear and supervised."""
    width: Count = 128
    """ReLU units of the students that train a teacher."""
    widths: Annotated[tuple[Count, ...], MinLen(1)] = (32, 512)
    """ReLU units of the fresh students of another width, one each."""
    teacher_widths: Annotated[tuple[Count, ...], MinLen(1)] = (256, 256)
    """Units of the teacher's ReLU layers."""
    fresh: Count = 2
    """Fresh students of the same width."""
    steps: Count = 1024
    """Ordinary steps of a fresh student, on all training examples."""
    young: Count = 128
    """Steps after which a fresh student is looked at as a young one, and between two looks."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_split(self.examples, self.validation, self.batch)
        if self.young > self.steps:
            raise ValueError(f"young should be at most the {self.steps} steps of a fresh student. Found {self.young}.")


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(inputs=256, students=16, rounds=400, renewed=64, fresh=8, widths=(32, 64, 256, 512), steps=4096), 8),
}


def make_student(config: Config, width: int, generator: Generator) -> nn.Sequential:
    """Return a student: its first layer has no activation, as the data have a linear bottleneck."""
    return nn.Sequential(*relu_mlp((config.inputs, config.units), generator), *relu_mlp((config.units, width, 1), generator))


def train_teacher(config: Config, method: Method, data: Part) -> Lesson:
    """Return a lesson whose teacher is trained; all have the same rounds, so that a population sees P times the steps."""
    generator = stream(config.seed, "splits and batches")
    count = config.students if method in ("population", "and-mask") else 1
    fresh = stream(config.seed, "students")
    students = [make_student(config, config.width, fresh) for _ in range(count)]
    widths = (4, *config.teacher_widths, config.units)
    teacher = UnitsTeacher(relu_mlp(widths, stream(config.seed, "teacher")), {LAYER: config.units})
    lesson = Lesson(students[0], teacher, [LAYER], binary_loss, config.alpha)

    def by_agreement(gradients: Tensor) -> Tensor:
        return combine(AndMask(config.agreement), gradients).gradient

    def renew(p: int, generator: Generator) -> nn.Module:
        del p
        return make_student(config, config.width, generator)

    population = Population(
        students, renew, None if method == "lone" else Every(config.renewed), by_agreement if method == "and-mask" else None
    )
    distillation = PopulationDistillation(
        lesson,
        population,
        Examples(*data),
        split_rows(len(data.y), config.validation, generator),
        Unrolling("student", config.inner_steps, config.batch),
        lambda parameters: torch.optim.Adam(parameters, config.student_lr),
        torch.optim.Adam(teacher.parameters(), config.meta_lr),
        generator,
    )
    for _ in range(config.rounds):
        distillation.step(config.student_steps)
    return lesson


def learn(
    config: Config, lesson: Lesson | None, student: nn.Module, data: PrivilegedData, generator: Generator
) -> Iterator[Measured]:
    """Train a fresh student, under a teacher that stays as it is or without one, and look at it now and then."""
    optimizer = torch.optim.Adam(student.parameters(), config.student_lr)
    looks = range(config.young, config.steps + 1, config.young)
    if lesson is None:
        plain = (student, (data.train.x, data.train.y), binary_loss, optimizer, config.batch, generator)
        for step in without_teacher(*plain, looks[-1], config.young):
            yield Measured(step, accuracy(student, data.selection), accuracy(student, data.test))
        return
    given, examples = replace(lesson, student=student), Examples(*data.train)
    for step in looks:
        teach(given, examples, optimizer, steps=config.young, batch_size=config.batch, generator=generator)
        yield Measured(step, accuracy(student, data.selection), accuracy(student, data.test))


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each teacher and fresh student."""
    data = xor(config.seed, config.inputs, config.examples)
    kinds = [("initialisation", config.width)] * config.fresh + [("width", width) for width in config.widths]
    for method in config.methods:
        yield from part(method, taught(config, method, data, kinds))


def taught(config: Config, method: Method, data: PrivilegedData, kinds: list[tuple[str, int]]) -> Iterator[Row]:
    """Yield one row for each fresh student of a teacher."""
    lesson = None if method == "no-teacher" else train_teacher(config, method, data.train)
    for place, (unseen, width) in enumerate(kinds):
        student = make_student(config, width, stream(config.seed, "fresh student", place))
        points = list(learn(config, lesson, student, data, stream(config.seed, "fresh student's batches", place)))
        row: Row = {"method": method, "unseen": unseen, "width": width, "student": place}
        yield {**row, "young": points[0].test, **summary(points, max)}
