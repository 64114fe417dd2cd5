"""A teacher and one student that go on learning, on one sub-task or on a stream of them; fresh students on another one judge.

A sub-task is task A with a mixing of its own (`mechlearn_zoo.tasks.boards.xor`): what the student must find is another, how the
privileged data hide it is the same. After every stage the teacher, as it is, teaches a fresh student of a sub-task that neither
domain has shown, which is compared with the same student without a teacher: both at their ends, and both where validation on
that sub-task's examples for selection stops them.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Generator, nn

from claimlab import EarlyStopping, Positive, Preset, Row, Share, check_limits, checkpoint, computed, number
from mechlearn.distill import Distillation, Examples, Lesson, UnitsTeacher, Unrolling, split_rows, teach
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.training import Count, accuracy, binary_loss, check_split, without_teacher
from mechlearn_zoo.tasks.boards.xor import xor
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import stream

Domain = Literal["fixed", "stream"]
LAYER = "0"


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the sub-tasks, the initial weights, the splits and the batches."""
    domains: Annotated[tuple[Domain, ...], MinLen(1)] = ("fixed", "stream")
    """One sub-task throughout, or another one in every stage."""
    stages: Annotated[int, Ge(2)] = 4
    """Stages, of as many rounds each."""
    rounds: Count = 40
    """Meta-steps of a stage, each followed by the student's ordinary steps."""
    inner_steps: Count = 32
    """n, the steps of an unroll, and N, of ordinary ones after it."""
    inputs: Count = 64
    """D, the dimensions of x."""
    examples: Count = 256
    """Training examples of a sub-task."""
    batch: Count = 32
    """Examples of a step."""
    alpha: Positive = 1000.0
    """Teaching coefficient."""
    validation: Share = 0.5
    """Share of the examples that is kept from the student and trains the teacher."""
    learning_rate: Positive = 1e-3
    """Of students and teacher, Adam's."""
    units: Count = 32
    """Units of the student's first layer, which is linear and supervised."""
    width: Count = 128
    """ReLU units of a student, and of each of the teacher's two layers."""
    steps: Count = 512
    """Ordinary steps of a fresh student."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_split(self.examples, self.validation, self.batch)


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(stages=10, rounds=100, inputs=256, examples=512, width=256, steps=2048), seeds=8),
}


def make_student(config: Config, generator: Generator) -> nn.Sequential:
    """Return a student: its first layer has no activation, as the data have a linear bottleneck."""
    return nn.Sequential(
        *relu_mlp((config.inputs, config.units), generator), *relu_mlp((config.units, config.width, 1), generator)
    )


def sub_task(config: Config, number: int) -> PrivilegedData:
    """Draw a sub-task; -1 is the one of fresh students."""
    return xor(config.seed * 100 + number + 1, config.inputs, config.examples)


def run(config: Config) -> Iterator[Row]:
    """Yield each stage's accuracy, the teacher's signal in it, and what the teacher is then worth to a fresh student."""
    other = sub_task(config, -1)
    alone = computed("alone", fresh, config, None, other)
    for domain in config.domains:
        student = make_student(config, stream(config.seed, "student"))
        widths = (4, config.width, config.width, config.units)
        teacher = UnitsTeacher(relu_mlp(widths, stream(config.seed, "teacher")), {LAYER: config.units})
        lesson = Lesson(student, teacher, [LAYER], binary_loss, config.alpha)
        first = computed(f"{domain} 0", fresh, config, lesson, other)
        yield {"domain": domain, "stage": 0, **gains(first, alone)}
        optimizers = [torch.optim.Adam(module.parameters(), config.learning_rate) for module in (student, teacher)]
        generator = stream(config.seed, "splits and batches")
        saved = checkpoint(domain, student, teacher, *optimizers, generator)
        yield from saved.values
        for stage in range(saved.done + 1, config.stages + 1):
            data = sub_task(config, stage if domain == "stream" else 1)
            before = accuracy(student, data.test)
            signals = stage_of(config, lesson, data.train, optimizers, generator)
            yield saved.keep(stage, {
                "domain": domain, "stage": stage, "before": before, "after": accuracy(student, data.test),
                "signal": float(np.mean(signals)), **gains(fresh(config, lesson, other), alone),
            })  # fmt: skip
        saved.finish()


def stage_of(
    config: Config, lesson: Lesson, data: Part, optimizers: list[torch.optim.Adam], generator: Generator
) -> list[float]:
    """Let teacher and student learn for a stage; return the norm of the meta-gradient in every round."""
    distillation = Distillation(
        lesson,
        Examples(*data),
        split_rows(len(data.y), config.validation, generator, "redrawn"),
        Unrolling("student", config.inner_steps, config.batch),
        optimizers[0],
        optimizers[1],
        generator,
    )
    return [distillation.step(config.inner_steps).meta.norm for _ in range(config.rounds)]


def fresh(config: Config, lesson: Lesson | None, data: PrivilegedData) -> Row:
    """Return the accuracy of a fresh student at its end and where validation stops it, by a teacher as it is or by none."""
    generator = stream(config.seed, "fresh student's batches")
    student = make_student(config, stream(config.seed, "fresh student"))
    optimizer = torch.optim.Adam(student.parameters(), config.learning_rate)
    stopping = watched(config, student, optimizer, data)
    if lesson is not None:
        given = replace(lesson, student=student)
        teach(given, Examples(*data.train), optimizer, steps=config.steps, batch_size=config.batch, generator=generator)
        return {"accuracy": accuracy(student, data.test), **stopping.row}
    plain = (student, (data.train.x, data.train.y), binary_loss, optimizer, config.batch, generator)
    for _ in without_teacher(*plain, config.steps, 1):
        pass
    return {"accuracy": accuracy(student, data.test), **stopping.row}


def watched(config: Config, student: nn.Module, optimizer: torch.optim.Optimizer, data: PrivilegedData) -> EarlyStopping:
    """Return early stopping that looks at a student after its optimiser's steps, whoever takes them."""
    stopping, taken = EarlyStopping(), 0
    # A copy is looked at: lessons read the student's layers by hooks, which a look must not fill.
    shown = deepcopy(student)

    def look(*_: object) -> None:
        nonlocal taken
        taken += 1
        if stopping.due(taken / config.steps):
            shown.load_state_dict(student.state_dict())
            found: Row = {"accuracy": accuracy(shown, data.test)}
            stopping.look(taken / config.steps, accuracy(shown, data.selection), found)

    optimizer.register_step_post_hook(look)
    return stopping


def gains(taught: Row, alone: Row) -> Row:
    """Return what a teacher is worth to a fresh student: at both ends, and where validation stops either."""
    return {
        "gain": number(taught, "accuracy") - number(alone, "accuracy"),
        "alone": alone["accuracy"],
        "stopped_gain": number(taught, "stopped_accuracy") - number(alone, "stopped_accuracy"),
        "stopped_alone": alone["stopped_accuracy"],
        "stopped_at": taught["stopped_at"],
        "alone_stopped_at": alone["stopped_at"],
    }
