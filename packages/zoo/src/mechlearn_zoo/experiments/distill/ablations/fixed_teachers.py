"""Targets that never change: other uses of the same privileged data than LDT.

A fixed random teacher, whose coefficient is its own, and generalised distillation (Lopez-Paz et al., 2016), whose teacher
learns to predict the label from the privileged data and whose softened predictions the student imitates.
"""

import torch
from torch import Tensor, nn

from mechlearn.distill import GatedSquaredError
from mechlearn.distill.examples.streams import Stream
from mechlearn_zoo.experiments.distill.ablations.variants import Trial
from mechlearn_zoo.experiments.distill.bodies import Training, make_teacher
from mechlearn_zoo.experiments.distill.training import label_loss, ordinary_steps
from mechlearn_zoo.nn.convolutions import trajectory_network
from mechlearn_zoo.tasks.bodies.quantiles import BINS
from mechlearn_zoo.tasks.bodies.rollouts import STEPS
from mechlearn_zoo.tasks.privileged import Part
from mechlearn_zoo.tasks.streams import same_stream


class Losses:
    """A student's unreduced losses on some rows, with what a fixed teacher adds."""

    def __init__(self, student: nn.Sequential, data: Part) -> None:
        self.student, self.data = student, data

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the label losses (b,)."""
        return label_loss(self.student(self.data.x[rows]), self.data.y[rows])


class RandomTeacherLosses(Losses):
    """Label losses and the gated squared error to the targets of an untrained teacher."""

    def __init__(self, student: nn.Sequential, data: Part, teacher: nn.Module, coefficient: float) -> None:
        super().__init__(student, data)
        self.teacher, self.coefficient, self.loss = teacher, coefficient, GatedSquaredError()

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the losses (b,)."""
        hidden: dict[str, Tensor] = {}
        x = self.data.x[rows]
        for name, layer in self.student.named_children():
            x = layer(x)
            if int(name) % 2 == 0 and int(name) < len(self.student) - 1:
                hidden[name] = x
        with torch.no_grad():
            targets = self.teacher(self.data.privileged[rows])
        return label_loss(x, self.data.y[rows]) + self.coefficient * self.loss(hidden, targets)


class SoftLabelLosses(Losses):
    """Generalised distillation: (1 - lambda) cross-entropy with the label + lambda with the teacher's softened prediction."""

    def __init__(self, student: nn.Sequential, data: Part, soft: Tensor, trial: Trial) -> None:
        super().__init__(student, data)
        self.soft, self.trial = soft, trial

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the losses (b,)."""
        prediction = self.student(self.data.x[rows])
        imitation = -(self.soft[rows] * prediction.log_softmax(1)).sum(1)
        share = self.trial.imitation
        return (1 - share) * label_loss(prediction, self.data.y[rows]) + share * imitation


def losses_of(config: Training, student: nn.Sequential, data: Part, trial: Trial) -> Losses:
    """Return the losses of a variant without a meta-step."""
    if trial.variant == "random-teacher":
        teacher = make_teacher(config, data.privileged.shape[2])
        return RandomTeacherLosses(student, data, teacher, trial.coefficient)
    if trial.variant == "generalised":
        return SoftLabelLosses(student, data, soft_labels(config, data, trial.temperature), trial)
    return Losses(student, data)


def soft_labels(config: Training, data: Part, temperature: float) -> Tensor:
    """Return softmax(f(x*) / T) of a network that was trained to predict the label from the privileged data.

    It has the teacher's layers and stops where its loss on a tenth of the examples, held out, was least.
    """
    generator = same_stream(config.seed)
    shape = (data.privileged.shape[2], STEPS, config.teacher_channels, config.teacher_hidden, BINS)
    network = trajectory_network(*shape, generator)
    optimizer = torch.optim.Adam(network.parameters(), config.student_lr)
    order = torch.randperm(len(data.y), generator=generator)
    held, rest = order[: len(order) // 10], order[len(order) // 10 :]
    batches = Stream(rest, 64, generator)

    def losses(rows: Tensor) -> Tensor:
        return label_loss(network(data.privileged[rows]), data.y[rows])

    best, soft = float("inf"), torch.zeros(0)
    for _ in range(20):
        network.train()
        for _ in ordinary_steps(losses, batches, optimizer, len(rest) // 64, 1):
            pass
        network.eval()
        with torch.no_grad():
            logits = network(data.privileged)
        loss = float(label_loss(logits[held], data.y[held]).mean())
        if loss < best:
            best, soft = loss, (logits / temperature).softmax(1)
    return soft
