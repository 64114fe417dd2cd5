"""How a student is trained by each method; all that it is trained with is in one module, and nothing of it is needed later."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import torch
from torch import Generator, Tensor, nn

from mechlearn.distill import Distillation, Examples, Lesson, Unrolling, split_rows
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.equal.counting import operations
from mechlearn_zoo.experiments.distill.equal.problems import TEACHER, Problem
from mechlearn_zoo.experiments.distill.training import label_loss
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.privileged import (
    FutureScores,
    auxiliary_loss,
    gated_loss,
    generalised_distillation_loss,
    hindsight_losses,
    info_nce,
)
from mechlearn_zoo.tasks.streams import stream

Method = Literal["no-teacher", "auxiliary", "gated", "hindsight", "contrast", "generalised", "ldt"]

BATCH = 32
LATENT, SUMMARY = 16, 4
"""Numbers of an encoded frame of the contrast's, and features of the future of hindsight modelling's."""


class Setting(NamedTuple):
    """One trial's settings; a method leaves at 0 what it does not use."""

    lr: float
    weight: float = 0.0
    temperature: float = 0.0
    imitation: float = 0.0
    share: float = 0.0
    alpha: float = 0.0
    inner_steps: int = 0
    meta_lr: float = 0.0
    validation: float = 0.0


class Learner(nn.Module):
    """A student with what a method sets beside it, and the loss that the method descends.

    Args:
        problem: the task.
        method: which.
        setting: its numbers.
        generator: of the initial weights, the student's first.
    """

    def __init__(self, problem: Problem, method: Method, setting: Setting, generator: Generator) -> None:
        super().__init__()
        self.problem, self.method, self.setting = problem, method, setting
        self.student = problem.make_student(generator)
        (frames, numbers), width = problem.frame, problem.features
        if method in ("auxiliary", "gated"):
            self.head = relu_mlp((width, frames * numbers), generator)
        if method == "contrast":
            self.encode = relu_mlp((numbers, LATENT), generator)
            self.scores = FutureScores(frames, width, LATENT, generator)
        if method == "hindsight":
            self.summary = relu_mlp((frames * numbers, *TEACHER, SUMMARY), generator)
            self.model = relu_mlp((width, SUMMARY), generator)
            self.read = relu_mlp((width + SUMMARY, TEACHER[0], problem.classes), generator)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits, of x alone."""
        if self.method != "hindsight":
            return self.student(x)
        h = self.student[:-1](x)
        return self.read(torch.cat([h, self.model(h)], 1))

    def loss(self, rows: Tensor) -> Tensor:
        """Return what is descended on some rows of the training examples."""
        x, privileged, y = (part[rows] for part in self.problem.data.train)
        h = self.student[:-1](x)
        if self.method == "hindsight":
            return self._hindsight(h, privileged, y)
        main = label_loss(self.student[-1](h), y)
        if self.method in ("auxiliary", "gated"):
            beside = self.setting.weight * auxiliary_loss(self.head(h).view_as(privileged), privileged)
            if self.method == "gated":
                return gated_loss(main.mean(), beside.mean(), self.student[:-1].parameters()).loss
            return (main + beside).mean()
        if self.method == "contrast":
            return (main + self.setting.weight * info_nce(self.scores(h, self.encode(privileged)))).mean()
        return main.mean()

    def _hindsight(self, h: Tensor, privileged: Tensor, y: Tensor) -> Tensor:
        modelled, features = self.model(h), self.summary(privileged.flatten(1))
        value = label_loss(self.read(torch.cat([h, modelled.detach()], 1)), y)
        hindsight = label_loss(self.read(torch.cat([h, features], 1)), y)
        return hindsight_losses(value, hindsight, modelled, features).total(1.0, self.setting.weight).mean()


def train(
    problem: Problem, method: Method, setting: Setting, seed: int, budget: float, looks: int
) -> Iterator[tuple[nn.Module, float]]:
    """Train a student until a budget is spent; yield what predicts, and what was spent, so many times.

    Args:
        problem: the task.
        method: how.
        setting: its numbers.
        seed: of weights, batches and splits.
        budget: in gradients of the plain student on a batch, by operations: all that a method computes in training counts.
        looks: how often.
    """
    weights = stream(seed, "weights")
    plain = Learner(problem, "no-teacher", setting, stream(seed, "weights"))
    rows = torch.arange(BATCH) % len(problem.data.train.y)
    unit = float(operations(lambda: _descend(plain.loss(rows))))
    generator = stream(seed, "splits and batches")
    if method == "ldt":
        yield from _teach(problem, setting, generator, weights, budget * unit, unit, looks)
        return
    learner, spent = Learner(problem, method, setting, weights), 0.0
    loss: Callable[[Tensor], Tensor] = learner.loss
    if method == "generalised":
        soft, spent = _teacher_logits(problem, setting, generator, budget * unit)
        loss = _imitation(learner, soft)
    optimizer = torch.optim.Adam(learner.parameters(), setting.lr)
    batches = Stream(torch.arange(len(problem.data.train.y)), BATCH, generator)
    one = operations(lambda: _descend(loss(rows)))
    steps = max(looks, int((budget * unit - spent) / one))
    for step in range(1, steps + 1):
        descend(optimizer, loss(next(batches)))
        if step * looks // steps > (step - 1) * looks // steps:
            yield learner, (spent + step * one) / unit


def _descend(loss: Tensor) -> None:
    loss.backward()  # pyright: ignore[reportUnknownMemberType]  # torch's


def _teach(
    problem: Problem, setting: Setting, generator: Generator, weights: Generator, budget: float, unit: float, looks: int
) -> Iterator[tuple[nn.Module, float]]:
    """Train with LDT; a round has as many ordinary steps as its unroll has."""
    student = problem.make_student(weights)
    teacher = problem.make_teacher(weights)
    examples = problem.data.train
    n = setting.inner_steps
    distillation = Distillation(
        Lesson(student, teacher, list(problem.units), label_loss, setting.alpha, problem.teaching_loss),
        Examples(*examples),
        split_rows(len(examples.y), setting.validation, generator),
        Unrolling("student", n, BATCH, validation_size=min(256, round(setting.validation * len(examples.y)))),
        torch.optim.Adam(student.parameters(), setting.lr),
        torch.optim.Adam(teacher.parameters(), setting.meta_lr),
        generator,
    )
    one = operations(lambda: distillation.step(n))
    rounds = max(looks, int(budget / one))
    for round_ in range(1, rounds + 1):
        if round_ > 1:  # the first was taken to be counted
            distillation.step(n)
        if round_ * looks // rounds > (round_ - 1) * looks // rounds:
            yield student, round_ * one / unit


def _imitation(learner: Learner, soft: Tensor) -> Callable[[Tensor], Tensor]:
    setting, examples = learner.setting, learner.problem.data.train

    def loss(rows: Tensor) -> Tensor:
        prediction = learner.student(examples.x[rows])
        temperature, imitation = setting.temperature, setting.imitation
        return generalised_distillation_loss(
            prediction, examples.y[rows], soft[rows], temperature=temperature, imitation=imitation
        ).mean()

    return loss


def _teacher_logits(problem: Problem, setting: Setting, generator: Generator, budget: float) -> tuple[Tensor, float]:
    """Train a network to predict labels from x* for a share of the budget; return its logits where its held-out loss was least.

    A tenth of the examples is held out, and looked at ten times.
    """
    frames, numbers = problem.frame
    network = nn.Sequential(nn.Flatten(), *relu_mlp((frames * numbers, *TEACHER, problem.classes), generator))
    optimizer = torch.optim.Adam(network.parameters(), setting.lr)
    _, privileged, y = problem.data.train
    order = torch.randperm(len(y), generator=generator)
    held, rest = order[: len(order) // 10], order[len(order) // 10 :]
    batches = Stream(rest, BATCH, generator)

    def step() -> None:
        rows = next(batches)
        descend(optimizer, label_loss(network(privileged[rows]), y[rows]).mean())

    def logits() -> Tensor:
        with torch.no_grad():
            return network(privileged)

    spent = float(operations(step))
    look = operations(logits)
    steps = max(10, int((setting.share * budget - 10 * look) / spent))
    best, found = float("inf"), logits()
    for taken in range(2, steps + 1):
        step()
        if taken * 10 // steps > (taken - 1) * 10 // steps:
            now = logits()
            loss = float(label_loss(now[held], y[held]).mean())
            if loss < best:
                best, found = loss, now
    return found, steps * spent + 10 * look
