"""Students of task A with a teacher and without one, over dimensions and numbers of examples.

Two hidden numbers decide the label by XOR. The privileged data show them behind random signs, so that predicting the
privileged data teaches nothing; a teacher that is trained by the student's validation loss learns to undo the signs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, MinLen
from torch import nn

from claimlab import Positive, Preset, Row, Share, check_limits, computed
from mechlearn.distill import (
    Distillation,
    Examples,
    Implicit,
    Lesson,
    Strategy,
    Truncated,
    UnitsTeacher,
    Unroll,
    Unrolling,
    split_rows,
)
from mechlearn.distill.examples.inputs import Inputs
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import (
    Count,
    Counts,
    accuracy,
    binary_loss,
    check_split,
    now_and_then,
    rounds_of,
    without_teacher,
)
from mechlearn_zoo.experiments.distill.xor.looks import Looking, looked_at
from mechlearn_zoo.tasks.boards.xor import xor
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import stream

Method = Literal[
    "no-teacher", "ldt-fixed", "ldt-redrawn", "ldt-truncated", "ldt-implicit", "ldt-ragged", "ldt-padded", "ldt-placebo"
]

STRATEGIES: dict[str, Strategy] = {"ldt-truncated": Truncated(8), "ldt-implicit": Implicit("cg", terms=8, damping=1e-2)}
"""How a method differentiates, where that is not through the whole unroll."""

LOOKING: tuple[Method, ...] = ("ldt-ragged", "ldt-padded", "ldt-placebo")
"""Methods whose teacher reads looks of different numbers."""


@dataclass(frozen=True)
class Config:
    """Settings of one run; see README.md for where the texts and the released code differ."""

    seed: int = 0
    """First seed: of the data, the initial weights, the split and the batches."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("no-teacher", "ldt-fixed", "ldt-redrawn")
    """Without a teacher on all examples; LDT with one split for good (the text), or a new one before every meta-step; with one
    split and a meta-gradient through the last 8 inner steps alone, or by the implicit function theorem; with one split and
    x* as trajectories of noisy looks: with their lengths, padded without them, or another example's."""
    inputs: Counts = (64, 128, 256)
    """D, the dimensions of x."""
    examples: Counts = (256, 512, 1024)
    """The numbers of training examples."""
    rounds: Count = 64
    """Meta-steps, each followed by the student's ordinary steps; without a teacher as many ordinary steps."""
    inner_steps: Count = 32
    """n, the steps of an unroll."""
    student_steps: Count = 32
    """N, ordinary steps after each meta-step; the released code makes one pass over its training part."""
    batch: Count = 32
    """Examples of a step."""
    alpha: Annotated[float, Ge(0)] = 1000.0
    """Teaching coefficient, beside a squared error that is averaged over units."""
    validation: Share = 0.5
    """Share of the training examples that is kept from the student and trains the teacher."""
    student_lr: Positive = 1e-3
    """Learning rate of the student's Adam, in ordinary and inner steps."""
    meta_lr: Positive = 1e-3
    """Learning rate of the teacher's Adam."""
    moments: Literal["fresh", "student"] = "fresh"
    """Where the inner Adam's moments start: at zero, or with the student's own, as in the released code."""
    student_widths: Counts = (32, 128)
    """Units of the student: a linear layer, which the teacher supervises, then a ReLU layer."""
    teacher_widths: Counts = (256, 256)
    """Units of the teacher's ReLU layers."""
    every: Count = 4
    """Rounds between two looks at the held-out examples."""

    def __post_init__(self) -> None:
        check_limits(self)
        if len(self.student_widths) != 2:
            raise ValueError(f"student_widths should be a linear and a ReLU layer's. Found {self.student_widths}.")
        for count in self.examples:
            check_split(count, self.validation, self.batch)


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # Cheaper meta-gradients, on the middle cell.
    "strategies": Preset(
        Config(seed=100, methods=("no-teacher", "ldt-fixed", "ldt-truncated", "ldt-implicit"), inputs=(128,), examples=(512,)),
        seeds=6,
    ),
    # x* as a mapping, with trajectories of different lengths in it, on the same cell.
    "ragged": Preset(Config(seed=100, methods=("no-teacher", *LOOKING), inputs=(128,), examples=(512,)), seeds=6),
    # The texts' grid: 16 exponentially spaced n from 128 to 1024. They name neither n, N, alpha nor the number of rounds.
    "paper": Preset(
        Config(inputs=(64, 128, 256, 512), examples=tuple(round(128 * 8 ** (k / 15)) for k in range(16)), rounds=400), seeds=5
    ),
}


def make_student(config: Config, inputs: int, generator: torch.Generator) -> nn.Sequential:
    """Return the student: its first layer has no activation, as the data have a linear bottleneck."""
    linear, hidden = config.student_widths
    first, rest = relu_mlp((inputs, linear), generator), relu_mlp((linear, hidden, 1), generator)
    return nn.Sequential(*first, *rest)


def train(config: Config, method: Method, student: nn.Module, examples: Part) -> Iterator[int]:
    """Train a student in place; yield the number of its ordinary steps after every round."""
    generator = stream(config.seed, "splits and batches")
    optimizer = torch.optim.Adam(student.parameters(), config.student_lr)
    if method == "no-teacher":
        plain = (student, (examples.x, examples.y), binary_loss, optimizer, config.batch, generator)
        yield from without_teacher(*plain, config.rounds * config.student_steps, config.student_steps)
        return
    units = config.student_widths[0]
    network = relu_mlp((4, *config.teacher_widths, units), stream(config.seed, "teacher"))
    teacher: nn.Module = UnitsTeacher(network, {"0": units})
    given: Inputs = examples.privileged
    if method in LOOKING:
        teacher = Looking(teacher)
        given = looked_at(method, examples.privileged, stream(config.seed, "looks"))
    splitting = "redrawn" if method == "ldt-redrawn" else "fixed"
    distillation = Distillation(
        Lesson(student, teacher, ["0"], binary_loss, config.alpha),
        Examples(examples.x, given, examples.y),
        split_rows(len(examples.y), config.validation, generator, splitting),
        Unrolling("student", config.inner_steps, config.batch, config.moments, strategy=STRATEGIES.get(method, Unroll())),
        optimizer,
        torch.optim.Adam(teacher.parameters(), config.meta_lr),
        generator,
    )
    yield from rounds_of(distillation.step, config.rounds, config.student_steps)


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each dimension, number of examples and method."""
    for inputs in config.inputs:
        for count in config.examples:
            data = xor(config.seed, inputs, count)
            for method in config.methods:
                found = computed(f"{inputs}, {count}, {method}", summed_up, config, method, inputs, data)
                yield {"inputs": inputs, "examples": count, "method": method, **found}


def summed_up(config: Config, method: Method, inputs: int, data: PrivilegedData) -> Row:
    """Return the summary of a student's accuracies."""
    return summary(list(measure(config, method, inputs, data)), max)


def measure(config: Config, method: Method, inputs: int, data: PrivilegedData) -> Iterator[Measured]:
    """Train one student and look at it now and then."""
    student = make_student(config, inputs, stream(config.seed, "student"))
    for step in now_and_then(train(config, method, student, data.train), config.every, config.rounds):
        yield Measured(step, accuracy(student, data.selection), accuracy(student, data.test))
