"""LDT on a table: a teacher learns, by the student's validation loss, what a network's hidden units should be (chapter 4).

All configurations and folds are one lesson of `mechlearn.distill`: a student and a teacher with a leading axis of members, an
example a row of each member's own. A member's losses depend on its own parameters only, and everything between (Adam, the
unroll, the teacher's step) works element by element, so that each learns what it would learn alone (a test).
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.distill import Distillation, Examples, Lesson, Unrolling, split_rows
from mechlearn.distill.losses import Hidden
from mechlearn.distill.teachers.targets import Target, Targets
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.tables.distilling.students import FOLDS, Learnt, Lessons, outside_of
from mechlearn.tables.fitting import Best, row_losses
from mechlearn.tables.reading_in import Numbers

ALPHAS = tuple(np.logspace(-1, 3, 6)[[2, 3, 1, 4, 0, 5]].tolist())
"""Six configurations: how much the teaching loss weighs; the first ones first where there is time for fewer."""

UNROLLED, EVERY, PATIENCE, BATCH = 8, 5, 6, 32
"""Inner steps n, and the student's own steps of a round; rounds between looks; looks without an improvement; rows of a step."""

WARM = 200
"""Steps in which a teacher of the estimators first learns by itself."""

RATE, META_RATE = 0.01, 0.003
"""Adam's learning rates of student and teacher."""


class Members(nn.Module):
    """Linear layers of M members: (B, M, in) to (B, M, out)."""

    def __init__(self, weight: Float[Tensor, "m o i"], bias: Float[Tensor, "m o"]) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, x: Float[Tensor, "b m i"]) -> Float[Tensor, "b m o"]:
        """Return each member's outputs of its own rows."""
        return torch.baddbmm(self.bias.unsqueeze(1), x.transpose(0, 1), self.weight.mT).transpose(0, 1)


def members(inputs: int, hidden: int, outputs: int, count: int, generator: torch.Generator) -> nn.Sequential:
    """Return so many networks of one hidden layer that start alike."""
    one = relu_mlp((inputs, hidden, outputs), generator)
    layers = [layer for layer in one if isinstance(layer, nn.Linear)]
    many = [Members(*(part.detach().expand(count, *part.shape).clone() for part in (one.weight, one.bias))) for one in layers]
    return nn.Sequential(many[0], nn.ReLU(), many[1])


class Form(NamedTuple):
    """What is done otherwise than in thesis section 4.3.

    Attributes:
        weighed: a student's coefficient is learnt with its teacher, as a factor on where it starts.
        warm: steps in which a teacher first learns by itself to say the label through a layer on its answers; the student
            starts with that layer.
        again: in the end a fresh student learns from the teacher as it was at its student's best look, which learns no more.
    """

    weighed: bool = False
    warm: int = 0
    again: bool = False


class Teacher(nn.Module):
    """From privileged columns to what hidden units should be, and the factor on the coefficient, as a gate before `exp`."""

    def __init__(self, network: nn.Sequential, count: int, weighed: bool) -> None:
        super().__init__()
        self.network, self.weighed = network, weighed
        self.weight = nn.Parameter(torch.zeros(count), requires_grad=weighed)

    def forward(self, known: Float[Tensor, "b m q"]) -> Target:
        """Return the targets (b, m, u), and each member's factor before `exp`, of that shape."""
        value = self.network(known)
        return Target(value, self.weight.unsqueeze(-1).expand_as(value) if self.weighed else None)


def ldt(lessons: Lessons, form: Form = Form()) -> Learnt:  # noqa: B008  # immutable
    """Train students under teachers that learn to teach; n = 8 inner steps, a validation half redrawn at every meta-step.

    Source: thesis section 4.3, algorithm 1. The supervised layer is the hidden one, before its ReLU. Students take twice
    `Training.steps`: a teacher has to learn before it can teach.
    """
    generator, alphas = torch.Generator().manual_seed(lessons.seed), torch.tensor(ALPHAS[: lessons.settings]).repeat(FOLDS)
    count, hidden = len(alphas), lessons.training.hidden or 32
    student = members(lessons.x.shape[1], hidden, lessons.y.shape[1], count, generator).to(lessons.device)
    teaching = members(lessons.known.shape[1], hidden, hidden, count, generator)
    teacher = Teacher(teaching, count, form.weighed).to(lessons.device)
    examples = _examples(lessons, generator)
    rows = len(examples.x)
    asked, started = _asked(alphas.to(lessons.device)), copy.deepcopy(student)
    if form.warm:
        _warm(teacher, student, examples, lessons, form.warm)
        started.load_state_dict(student.state_dict())
    lesson = Lesson(student, teacher, ["0"], _label_loss(lessons), alpha=1.0, teaching_loss=asked)
    split = split_rows(rows, 0.5, generator, splitting="redrawn")
    distillation = Distillation(
        lesson,
        examples,
        split,
        Unrolling("student", steps=UNROLLED, batch_size=min(BATCH, len(split.training))),
        torch.optim.Adam(student.parameters(), RATE),
        torch.optim.Adam([values for values in teacher.parameters() if values.requires_grad], META_RATE),
        generator,
    )
    best = _Looks(lessons, student, teacher)
    rounds = max(1, 2 * lessons.training.steps // UNROLLED)
    for _ in best.looking(rounds):
        distillation.step(student_steps=UNROLLED)
    if not form.again:
        return best.learnt()
    teacher.load_state_dict(best.teacher.trained().params)
    fresh = _Looks(lessons, started, teacher)
    optimizer = torch.optim.Adam(started.parameters(), RATE)
    loss = _label_loss(lessons)
    for _ in fresh.looking(rounds):
        for _ in range(UNROLLED):
            some = torch.randperm(rows, generator=generator)[:BATCH].to(lessons.device)
            x, known, y = (part[some] for part in _tensors(examples))
            hidden = started[0](x)
            with torch.no_grad():
                target = teacher(known)
            optimizer.zero_grad()
            (loss(started[2](started[1](hidden)), y) + asked({"0": hidden}, {"0": target})).mean().backward()
            optimizer.step()
    return fresh.learnt()


def warm_ldt(lessons: Lessons) -> Learnt:
    """Do `ldt` with teachers that know the label before they teach: what the estimators take.

    Ours, past the thesis: of three changes it is the one that moves LDT where the label is no linear function of what is
    privileged (`mechlearn run own-data-privileged --preset forms`).
    """
    return ldt(lessons, Form(warm=WARM))


def _warm(teacher: Teacher, student: nn.Sequential, examples: Examples, lessons: Lessons, steps: int) -> None:
    """Train the teachers and their students' last layers to say the labels from what is privileged, on all rows at once."""
    optimizer = torch.optim.Adam([*teacher.network.parameters(), *student[2].parameters()], RATE)
    loss = _label_loss(lessons)
    for _ in range(steps):
        optimizer.zero_grad()
        _, known, y = _tensors(examples)
        loss(student[2](student[1](teacher.network(known))), y).mean().backward()
        optimizer.step()


def _examples(lessons: Lessons, generator: torch.Generator) -> Examples:
    """Rows of each member's own folds in an order of its own, (R, M, ...); R is what the smallest has."""
    folds = lessons.folds
    own = [np.flatnonzero(folds != fold) for fold in range(FOLDS)]
    least = min(map(len, own))
    orders = [torch.tensor(rows)[torch.randperm(len(rows), generator=generator)[:least]] for rows in own]
    index = torch.stack([order for order in orders for _ in ALPHAS[: lessons.settings]], 1)  # (R, M)
    parts = [torch.tensor(values, dtype=torch.float32)[index] for values in (lessons.x, lessons.known, lessons.y)]
    return Examples(*(part.to(lessons.device) for part in parts))


def _tensors(examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
    return cast(Tensor, examples.x), cast(Tensor, examples.privileged), examples.y


def _label_loss(lessons: Lessons) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda prediction, y: row_losses(prediction, y, lessons.task).sum(-1)


def _asked(alphas: Float[Tensor, " m"]) -> Callable[[Hidden, Targets], Tensor]:
    def loss(hidden: Hidden, targets: Targets) -> Tensor:
        target = targets["0"]
        errors = (hidden["0"] - target.value).square().mean(-1)
        factor = alphas if target.gate is None else alphas * target.gate[..., 0].exp()
        return (errors * factor).sum(-1)

    return loss


class _Looks:
    """Each student, and its teacher, at the look with the least loss on the fold that the student was not trained on."""

    def __init__(self, lessons: Lessons, student: nn.Sequential, teacher: nn.Module) -> None:
        self._lessons, self._student = lessons, student
        folds = torch.tensor(lessons.folds, device=lessons.device)
        self._outside = (
            folds == torch.arange(FOLDS, device=lessons.device).repeat_interleave(len(ALPHAS[: lessons.settings]))[:, None]
        )  # (M, n)
        self._x, self._y = (torch.tensor(part, dtype=torch.float32, device=lessons.device) for part in (lessons.x, lessons.y))
        self.student, self.teacher = (Best(dict(one.named_parameters()), ~self._outside) for one in (student, teacher))

    def looking(self, rounds: int) -> Iterator[int]:
        """Yield so many rounds, with a look after every few, until no student has become better for long."""
        for round_ in range(1, rounds + 1):
            yield round_
            if round_ % EVERY == 0 or round_ == rounds:
                self._look(round_)
                if bool((self.student.since >= PATIENCE).all()):
                    return

    @torch.no_grad()
    def _look(self, round_: int) -> None:
        z = self._student(self._x.unsqueeze(1).expand(-1, len(self._outside), -1)).transpose(0, 1)
        shares = self._outside.float() / self._outside.float().sum(1, keepdim=True)
        losses = (row_losses(z, self._y, self._lessons.task) * shares).sum(1)
        for best in (self.student, self.teacher):
            best.look(round_, losses, None)

    def learnt(self) -> Learnt:
        """Return the fold models of the best coefficient."""
        lessons, found = self._lessons, self.student.trained()
        best = int(found.losses.nan_to_num(torch.inf).view(FOLDS, -1).mean(0).argmin())
        chosen = torch.arange(FOLDS, device=found.losses.device) * (len(found.losses) // FOLDS) + best
        layers: Mapping[str, Numbers] = {name: part[chosen].double().cpu().numpy() for name, part in found.params.items()}
        outside = outside_of(layers, lessons.x, lessons.folds, lessons.task)
        return Learnt(layers, outside, found.history[:, chosen].mean(1).cpu().numpy(), f"alpha {ALPHAS[best]:.3g}")
