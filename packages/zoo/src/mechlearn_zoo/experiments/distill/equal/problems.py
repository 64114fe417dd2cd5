"""The tasks on which methods are compared: data, student, teacher, losses, and an error that is to be low."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from mechlearn.distill import OUTPUT, GatedSquaredError, HiddenSquaredError, KullbackLeibler, TeachingLoss, UnitsTeacher
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.training import label_loss
from mechlearn_zoo.tasks.boards.noisy_labels import CLASSES, noisy_labels
from mechlearn_zoo.tasks.boards.xor import xor
from mechlearn_zoo.tasks.bodies.quantiles import BINS, bin_errors
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData

Task = Literal["xor", "noisy-labels", "body"]

TEACHER = (64, 64)
"""Units of the networks that read x*, of whatever method."""


@dataclass(frozen=True)
class Problem:
    """One task.

    Attributes:
        data: privileged data as trajectories (b, t, f); what is no trajectory is one frame. Labels are classes.
        make_student: from a generator to a student whose last layer gives logits of the classes.
        units: shapes of its supervised layers, by name.
        gated: whether the teacher gives gates.
        teaching_loss: LDT's L_h.
        classes: how many.
        alphas: range of LDT's coefficient.
        error: of logits and labels, one value an example.
    """

    data: PrivilegedData
    make_student: Callable[[Generator], nn.Sequential]
    units: dict[str, int]
    gated: bool
    teaching_loss: TeachingLoss
    classes: int
    alphas: tuple[float, float]
    error: Callable[[Tensor, Tensor], Tensor]

    @property
    def frame(self) -> tuple[int, int]:
        """The number of frames, and of numbers in each."""
        return self.data.train.privileged.shape[1], self.data.train.privileged.shape[2]

    @property
    def features(self) -> int:
        """How many features the student's last layer reads."""
        last = self.make_student(Generator())[-1]
        return int(last.in_features)  # pyright: ignore[reportArgumentType]  # a linear layer

    def make_teacher(self, generator: Generator) -> UnitsTeacher:
        """Return LDT's teacher: a perceptron over the flat trajectory."""
        frames, numbers = self.frame
        outputs = (1 + self.gated) * sum(self.units.values())
        network = nn.Sequential(nn.Flatten(), *relu_mlp((frames * numbers, *TEACHER, outputs), generator))
        return UnitsTeacher(network, self.units, gated=self.gated)

    def mean_error(self, student: nn.Module, part: Part) -> float:
        """Return a student's mean error."""
        with torch.no_grad():
            return float(self.error(student(part.x), part.y).mean())


def make_problem(task: Task, seed: int, scale: bodies.Scale = "quick") -> Problem:
    """Return a task's problem; a body's examples are the same for all seeds."""
    if task == "xor":
        return _xor(seed)
    return _noisy_labels(seed) if task == "noisy-labels" else _body(bodies.TRAININGS[scale])


def _framed(data: PrivilegedData) -> PrivilegedData:
    return PrivilegedData(*(Part(part.x, part.privileged[:, None], part.y.long()) for part in data))


def _wrong(prediction: Tensor, y: Tensor) -> Tensor:
    return (prediction.argmax(1) != y).float()


def _xor(seed: int) -> Problem:
    """Task A at D = 64 with 512 examples; two logits instead of one, so that all methods see classes."""

    def student(generator: Generator) -> nn.Sequential:
        return nn.Sequential(*relu_mlp((64, 32), generator), *relu_mlp((32, 128, 2), generator))

    return Problem(_framed(xor(seed, 64, 512)), student, {"0": 32}, False, HiddenSquaredError(), 2, (1e2, 1e4), _wrong)


def _noisy_labels(seed: int) -> Problem:
    """Task B, with a student of half the printed width."""

    def student(generator: Generator) -> nn.Sequential:
        return relu_mlp((128, 128, 128, CLASSES), generator)

    data = _framed(noisy_labels(seed, test=4000).data)
    return Problem(data, student, {OUTPUT: CLASSES}, False, KullbackLeibler(), CLASSES, (1e2, 1e5), label_loss)


def _body(training: bodies.Training) -> Problem:
    """Swimmer, with the printed student."""
    data = bodies.make_data(training, "Swimmer")
    widths = training.student_widths

    def student(generator: Generator) -> nn.Sequential:
        return relu_mlp((data.train.x.shape[1], *widths, BINS), generator, weight_norm=True)

    units = {str(2 * layer): width for layer, width in enumerate(widths)}
    return Problem(data, student, units, True, GatedSquaredError(), BINS, (1e2, 1e3), bin_errors)
