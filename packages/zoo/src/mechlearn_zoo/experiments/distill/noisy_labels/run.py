"""Students of task B with a teacher that knows the odds, and without one, for several entropy coefficients.

A student that fits the drawn labels becomes sure of what is chance. Rewarding its entropy makes it less sure, of everything
alike. A teacher that reads the odds, in training only, tells it what to be how sure of.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn

from claimlab import Positive, Preset, Row, Share, check_limits, number, part
from mechlearn.distill import OUTPUT, Distillation, Examples, KullbackLeibler, Lesson, UnitsTeacher, Unrolling, split_rows
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.noisy_labels.calibration import calibration, calibration_error
from mechlearn_zoo.experiments.distill.training import (
    Count,
    Counts,
    check_split,
    label_loss,
    now_and_then,
    rounds_of,
    without_teacher,
)
from mechlearn_zoo.tasks.boards.noisy_labels import CLASSES, NoisyLabelsData, noisy_labels
from mechlearn_zoo.tasks.privileged import Part
from mechlearn_zoo.tasks.streams import stream

Moments = Literal["fresh", "student"]
Splitting = Literal["fixed", "redrawn"]

Beta = Annotated[float, Ge(0), "a negative one would punish entropy"]


@dataclass(frozen=True)
class Config:
    """Settings of one run; those of LDT are table C.1's where it has them."""

    seed: int = 0
    """First seed: of the data, the initial weights, the split and the batches."""
    betas: Annotated[tuple[Beta, ...], MinLen(1)] = (0.0, 0.3, 1.0, 2.0, 3.0)
    """Entropy coefficients of the students without a teacher, which train on all examples."""
    moments: Annotated[tuple[Moments, ...], MinLen(1)] = ("fresh", "student")
    """LDT once for each: where the inner Adam's moments start, at zero or with the student's own (the released code)."""
    examples: Count = 1000
    """Training examples."""
    test: Count = 4000
    """Test examples; the released code has 1000."""
    logit_scale: Positive = 1.0
    """Factor on the logits: 1 in the texts, 3 in the released code."""
    rounds: Count = 120
    """Meta-steps, each followed by the student's ordinary steps; without a teacher as many ordinary steps."""
    inner_steps: Count = 64
    """n, the steps of an unroll (table C.1)."""
    student_steps: Count = 8
    """N, ordinary steps after each meta-step (the released code; the texts do not say)."""
    batch: Count = 32
    """Examples of a step (table C.1)."""
    alpha: Annotated[float, Ge(0)] = 1e4
    """Teaching coefficient (table C.1)."""
    validation: Share = 0.5
    """Share of the training examples that is kept from the student and trains the teacher (table C.1)."""
    splitting: Splitting = "fixed"
    """Whether that split is drawn once (the texts), or anew at every meta-step (the released code)."""
    student_lr: Positive = 1e-3
    """Learning rate of the student's Adam, in ordinary and inner steps (table C.1)."""
    meta_lr: Positive = 1e-3
    """Learning rate of the teacher's Adam (table C.1)."""
    widths: Counts = (256, 256)
    """Units of the hidden layers, of student and teacher alike."""
    every: Count = 4
    """Rounds between two looks at the held-out examples."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_split(self.examples, self.validation, self.batch)


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(rounds=1000, betas=(0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0)), seeds=5),
}


class Method(NamedTuple):
    """A student: without a teacher and with an entropy coefficient, or with a teacher and a start of inner moments."""

    name: Literal["no-teacher", "ldt"]
    beta: float = 0.0
    moments: Moments = "fresh"

    @property
    def label(self) -> str:
        """What rows call it."""
        return f"beta {self.beta:g}" if self.name == "no-teacher" else f"LDT, {self.moments} moments"


def methods(config: Config) -> list[Method]:
    """Return all students of a config."""
    plain = [Method("no-teacher", beta) for beta in config.betas]
    return plain + [Method("ldt", moments=moments) for moments in config.moments]


def entropy(prediction: Tensor) -> Tensor:
    """Return H(y_hat) of each example, in nats."""
    return -(prediction.softmax(1) * prediction.log_softmax(1)).sum(1)


def train(config: Config, method: Method, student: nn.Module, examples: Part) -> Iterator[int]:
    """Train a student in place; yield the number of its ordinary steps after every round."""
    generator = stream(config.seed, "splits and batches")
    optimizer = torch.optim.Adam(student.parameters(), config.student_lr)
    if method.name == "no-teacher":

        def loss(prediction: Tensor, y: Tensor) -> Tensor:
            return label_loss(prediction, y) - method.beta * entropy(prediction)

        plain = (student, (examples.x, examples.y), loss, optimizer, config.batch, generator)
        yield from without_teacher(*plain, config.rounds * config.student_steps, config.student_steps)
        return
    network = relu_mlp((examples.privileged.shape[1], *config.widths, CLASSES), stream(config.seed, "teacher"))
    teacher = UnitsTeacher(network, {OUTPUT: CLASSES})
    distillation = Distillation(
        Lesson(student, teacher, [OUTPUT], label_loss, config.alpha, KullbackLeibler()),
        Examples(*examples),
        split_rows(len(examples.y), config.validation, generator, config.splitting),
        Unrolling("student", config.inner_steps, config.batch, method.moments),
        optimizer,
        torch.optim.Adam(teacher.parameters(), config.meta_lr),
        generator,
    )
    yield from rounds_of(distillation.step, config.rounds, config.student_steps)


def loss_of(student: nn.Module, examples: Part) -> float:
    """Return a student's mean cross-entropy."""
    with torch.no_grad():
        return float(label_loss(student(examples.x), examples.y).mean())


def run(config: Config) -> Iterator[Row]:
    """Yield for each student its losses while training, a summary, and its calibration at the end of training."""
    found = noisy_labels(config.seed, examples=config.examples, logit_scale=config.logit_scale, test=config.test)
    for method in methods(config):
        yield from part(method.label, taught(config, method, found))


def taught(config: Config, method: Method, found: NoisyLabelsData) -> Iterator[Row]:
    """Yield a student's losses while training, a summary, and its calibration at the end."""
    data = found.data
    generator = stream(config.seed, "student")
    student = relu_mlp((data.train.x.shape[1], *config.widths, CLASSES), generator)
    row: Row = {"label": method.label, "method": method.name, "beta": method.beta, "bayes": found.bayes_loss}
    points: list[Measured] = []
    for step in now_and_then(train(config, method, student, data.train), config.every, config.rounds):
        points.append(Measured(step, loss_of(student, data.selection), loss_of(student, data.test)))
        yield {"kind": "curve", **row, **points[-1]._asdict(), "training": loss_of(student, data.train)}
    table = calibration(student, found)
    yield {"kind": "final", **row, **summary(points, min), "calibration_error": calibration_error(table)}
    for place in table:
        yield {"kind": "calibration", **row, **place}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a student with a teacher counts as thirty without."""
    labels = [method.label for method in methods(config)]
    costs = [30.0 if method.name == "ldt" else 1.0 for method in methods(config)]
    place = labels.index(str(row["label"]))
    steps = config.rounds * config.student_steps
    part = number(row, "step") / steps if row["kind"] == "curve" else 1.0
    text = f"{row['label']}  loss {number(row, 'selection'):.3f}" if "selection" in row else f"{row['label']}  done"
    return (sum(costs[:place]) + part * costs[place]) / sum(costs), text
