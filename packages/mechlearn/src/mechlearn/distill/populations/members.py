"""A population at work: its students one by one, or all in one stack. Both do the same, within rounding error."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import vmap

from mechlearn.arguments import check_graphs
from mechlearn.distill.examples.batches import Batches, Examples, Labelled
from mechlearn.distill.examples.causes import Read
from mechlearn.distill.examples.inputs import Inputs, at, mapped
from mechlearn.distill.forward.noise import no_draws
from mechlearn.distill.forward.students import student_function
from mechlearn.distill.lesson import Lesson, check_module
from mechlearn.distill.meta import MetaGradient, finished, meta_gradient
from mechlearn.distill.optimisers.adam import Adam
from mechlearn.distill.optimisers.counterparts import check_optimizer, inner_from
from mechlearn.distill.optimisers.inner import Inner
from mechlearn.distill.optimisers.sgd import SGD
from mechlearn.distill.optimisers.warm_start import state_from
from mechlearn.distill.ordinary import forget_casts, ordinary_steps
from mechlearn.distill.populations.population import Combine, start_anew
from mechlearn.distill.populations.stacked import coefficients, stacked_problem
from mechlearn.distill.records import StudentRecord, check_finite_step
from mechlearn.distill.strategies import Adjoint, Implicit
from mechlearn.distill.strategies.fit import check_fit
from mechlearn.distill.strategies.inner_problem import Solved
from mechlearn.distill.strategies.unrolling import Unrolling
from mechlearn.distill.teachers.hoisting import Teaching
from mechlearn.distill.teachers.signals import Signals, unpack
from mechlearn.distill.teachers.targets import check_targets
from mechlearn.functional import borrowed
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn.nn.stacks.members import check_members
from mechlearn.params import Params, map_params

MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
"""From a student's parameters to its optimiser, such as ``lambda p: torch.optim.Adam(p, 1e-3)``."""

_FOLLOWED = ("lr", "momentum", "weight_decay", "nesterov", "betas", "eps")
"""Settings of optimisers that a stack has counterparts of."""


class Found(NamedTuple):
    """A population's meta-gradient, with every student's validation loss (P,)."""

    meta: MetaGradient
    validation_losses: Float[Tensor, " p"]


class OneByOne:
    """The students in a loop, each with its own optimiser; they may be of different architectures."""

    def __init__(self, lesson: Lesson, students: tuple[nn.Module, ...], make_optimizer: MakeOptimizer) -> None:
        self.lessons = [lesson if p == 0 else replace(lesson, student=student) for p, student in enumerate(students)]
        self.optimizers = [make_optimizer(student.parameters()) for student in students]
        for student, optimizer in zip(students, self.optimizers, strict=True):
            check_optimizer("student_optimizer", optimizer, student)

    def meta_gradient(self, batches: Batches, validation: Labelled, unrolling: Unrolling, combine: Combine | None) -> Found:
        """Return the population's meta-gradient over (n, P, B, ...) batches."""
        found: list[MetaGradient] = []
        for p, (lesson, optimizer) in enumerate(zip(self.lessons, self.optimizers, strict=True)):
            rule = unrolling.rule(optimizer)
            start = state_from(optimizer, lesson.student, rule) if unrolling.moments == "student" else None
            own = batches.at((slice(None), p))
            found.append(meta_gradient(lesson, own, validation, rule, unrolling.strategy, start, clip=None))
        gradients = map_params(lambda *each: torch.stack(each), *(one.gradients for one in found))
        losses = torch.stack([one.validation_loss for one in found])
        training = torch.stack([one.training_losses for one in found]).mean(0)
        meta = found[0]._replace(validation_loss=losses.mean(), training_losses=training)
        return Found(_clipped(meta, combined(gradients, combine), unrolling.clip), losses)

    def student_steps(self, rows: Examples) -> StudentRecord:
        """Take one ordinary step of every student with each of its (n, P, B, ...) batches."""
        for lesson, optimizer in zip(self.lessons, self.optimizers, strict=True):
            check_optimizer("student_optimizer", optimizer, lesson.student)
        records = [
            ordinary_steps(lesson, Examples(*Batches(*rows).at((slice(None), p))), optimizer)
            for p, (lesson, optimizer) in enumerate(zip(self.lessons, self.optimizers, strict=True))
        ]
        return StudentRecord(*(sum(values) / len(records) for values in zip(*records, strict=True)))

    def start_anew(self, p: int, fresh: nn.Module) -> None:
        """Put a fresh student instead of the p-th."""
        start_anew(self.lessons[p].student, fresh)
        self.optimizers[p].state.clear()

    def moved(self) -> list[tuple[nn.Module, torch.optim.Optimizer]]:
        """Return what ordinary steps move."""
        return [(lesson.student, optimizer) for lesson, optimizer in zip(self.lessons, self.optimizers, strict=True)]

    def loaded(self) -> None:
        """Each student's optimiser has its settings from a state already."""

    def parts(self) -> dict[str, Any]:
        """Return what a state holds."""
        students = {f"students.{p}": lesson.student for p, lesson in enumerate(self.lessons)}
        return students | {f"optimizers.{p}": optimizer for p, optimizer in enumerate(self.optimizers)}


class Stacked:
    """The students as one stack; their modules' parameters are views of it, so that they may be read at any time."""

    def __init__(self, lesson: Lesson, students: tuple[nn.Module, ...], make_optimizer: MakeOptimizer) -> None:
        _check_trained(students)
        _check_apart(students)
        self.lesson, self.students = lesson, students
        self.stack = Stack(students)
        self.template = make_optimizer(students[0].parameters())
        check_optimizer("student_optimizer", self.template, students[0])
        inner_from(self.template)  # one that has no counterpart here, either, is refused
        self._tie()
        self.optimizer = _stacked_optimizer(self.template, list(self.stack.parameters()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Tie a copy's students to its stack: copying and pickling part them."""
        self.__dict__.update(state)
        self._tie()

    def _tie(self) -> None:
        for name, values in self.stack.stacked().items():
            for p, student in enumerate(self.students):
                student.get_parameter(name).data = values.data[p]

    def _check_students(self) -> None:
        """Reject students that were changed since, as a stack would go on without the change; take on new values."""
        _check_trained(self.students)
        check_members(self.students)
        parted: list[tuple[Tensor, Tensor]] = []
        for p, student in enumerate(self.students):
            own = dict(student.named_parameters())
            for name, values in self.stack.stacked().items():
                place, value = values.data[p], own.pop(name, None)
                if value is None or _build(value) != _build(place):
                    raise _changed(p, name, value, place)
                if value.data_ptr() != place.data_ptr():
                    parted.append((place, value.detach()))
            if own:
                name, value = own.popitem()
                raise _changed(p, name, value, None)
        # What was assigned, or converted there and back, has memory of its own: its values are the student's.
        for place, value in parted:
            place.copy_(value)
        if parted:
            self._tie()

    def meta_gradient(self, batches: Batches, validation: Labelled, unrolling: Unrolling, combine: Combine | None) -> Found:
        """Return the population's meta-gradient over (n, P, B, ...) batches."""
        lesson, rule = self.lesson, unrolling.rule(self.template)
        check_graphs("A meta-gradient should be found")
        self._check_students()
        check_stackable(lesson, unrolling, rule)
        lesson.check_modules()
        for student in self.students[1:]:
            check_module("student", student)
        losses = (lesson.label_loss, lesson.teaching_loss)
        student = self.students[0]
        with borrowed(student, lesson.teacher), student_function(student, lesson.layers) as function, torch.enable_grad():
            problem, lectures = stacked_problem(function, lesson, batches, validation, self._params(), rule)
            check_fit(problem.member(0))
            problem = problem.measured()
            with no_draws("An inner step", student, losses):
                solved = unrolling.strategy.solve(problem)
            with torch.no_grad():
                validation_losses = problem.validation_losses(solved.params)
            if combine is None:
                gradients = lectures.mean(solved.cotangents)
            else:
                gradients = combined(lectures.each(solved.cotangents), combine)
        count = len(self.students)
        mean = solved._replace(
            validation_loss=validation_losses.mean(), training_losses=solved.training_losses / count, params={}
        )
        return Found(finished(mean, gradients, unrolling.clip), validation_losses)

    def student_steps(self, rows: Examples) -> StudentRecord:
        """Take one ordinary step of all students with each of their (n, P, B, ...) batches."""
        check_graphs("Ordinary steps should be taken")
        self._follow()
        lesson, (n, count) = self.lesson, rows.y.shape[:2]
        teaching = Teaching(lesson.teacher, lesson.layers, lesson.hoisting)
        with borrowed(lesson.teacher):
            flat, layout = teaching.checked_signals(mapped(lambda tensor: tensor.flatten(0, 1), rows.privileged))
        signals = [signal.unflatten(0, (n, count)) for signal in flat]
        label_total = teaching_total = 0.0
        alpha: float | Tensor | None = None
        student = self.students[0]
        with borrowed(student), student_function(student, lesson.layers) as function, torch.enable_grad():

            def alone(params: Params, x: Inputs, y: Tensor, own: Signals) -> tuple[Tensor, Tensor]:
                prediction, hidden = function(params, x)
                check_targets(hidden, unpack(own, layout))
                label_losses = lesson.label_losses(prediction, y)
                return label_losses.mean(), lesson.teaching_losses(hidden, unpack(own, layout), len(y)).mean()

            for i in range(n):
                forget_casts(rows.y.device)
                own = tuple(signal[i] for signal in signals)
                params = self._params(detached=False)
                labels, teachings = vmap(alone)(params, at(rows.x, i), rows.y[i], own)
                label, taught = float(labels.detach().mean()), float(teachings.detach().mean())
                read = _reader(rows, i, own, params)
                check_finite_step(label, taught, i, read, None)
                if alpha is None:
                    alpha = coefficients(lesson, labels, teachings, params)
                self.optimizer.zero_grad()
                (labels + alpha * teachings).sum().backward()
                self.optimizer.step()
                label_total, teaching_total = label_total + label, teaching_total + taught
        self.optimizer.zero_grad()
        return StudentRecord(label_total / n, teaching_total / n)

    def _params(self, *, detached: bool = True) -> Params:
        found = self.stack.stacked()
        return {name: values.detach() for name, values in found.items()} if detached else found

    def start_anew(self, p: int, fresh: nn.Module) -> None:
        """Put a fresh student instead of the p-th, and forget its moments and the number of its steps."""
        start_anew(self.students[p], fresh)
        for state in self.optimizer.state.values():
            for value in cast("dict[str, Tensor | None]", state).values():
                if value is not None:
                    value[p] = 0

    def moved(self) -> list[tuple[nn.Module, torch.optim.Optimizer]]:
        """Return what ordinary steps move."""
        self._check_students()  # before what moves is remembered, lest a step that fails takes new values back
        return [(self.stack, self.optimizer)]

    def parts(self) -> dict[str, Any]:
        """Return what a state holds."""
        self._check_students()
        self._follow()
        return {"stack": self.stack, "optimizer": self.optimizer}

    def loaded(self) -> None:
        """Give the students' optimiser the settings that a state has brought."""
        found = self.optimizer.param_groups[0]
        for group in self.template.param_groups:
            for name in _settings(self.template):
                value = found[name]
                group[name] = value.flatten()[0].item() if isinstance(value, Tensor) else value

    def _follow(self) -> None:
        """Take on the settings of the students' optimiser, which a scheduler may have moved."""
        inner_from(self.template)  # settings that have no counterpart are refused
        self.optimizer.param_groups[0].update(_settings(_stacked_optimizer(self.template, list(self.stack.parameters()))))


def _reader(rows: Examples, i: int, signals: Signals, params: Params) -> Callable[[], Read]:
    return lambda: Read(at(rows.x, i), at(rows.privileged, i), rows.y[i], signals, params.values())


def combined(gradients: Params, combine: Combine | None) -> Params:
    """Return what becomes of the students' meta-gradients, (P, *shape) by name.

    Raises:
        ValueError: a rule that gives another shape.
    """
    if combine is None:
        return {name: gradient.mean(0) for name, gradient in gradients.items()}
    found = {name: combine(gradient) for name, gradient in gradients.items()}
    for name, gradient in gradients.items():
        shape = tuple(getattr(found[name], "shape", ()))  # a rule of the caller's may give anything
        if type(found[name]) is not Tensor or shape != gradient.shape[1:]:
            what = f"an object of type {type(found[name]).__name__} of shape {shape}"
            raise ValueError(
                f"`combine` should make one gradient of the students': from {tuple(gradient.shape)} to "
                f"{tuple(gradient.shape[1:])} for {name!r}. Found {what}. Return a tensor without the students' axis."
            )
    return found


def _clipped(meta: MetaGradient, gradients: Params, clip: float | None) -> MetaGradient:
    return finished(Solved((), meta.validation_loss, meta.training_losses, meta.student), gradients, clip)


def check_stackable(lesson: Lesson, unrolling: Unrolling, rule: Inner) -> None:
    """Reject what a stack would do otherwise than its students one by one."""
    way_out = "Pass stacked=False, or leave it out."
    if unrolling.moments == "student":
        raise ValueError(f"Stacked students should unroll with fresh moments. Found moments='student'. {way_out}")
    if lesson.hoisting.statistics == "pooled":
        raise ValueError(f"Stacked students' batches should be normalised each by itself. Found pooled statistics. {way_out}")
    strategy = unrolling.strategy
    if isinstance(strategy, Implicit) or (isinstance(strategy, Adjoint) and strategy.compile):
        raise ValueError(f"Stacked students should be differentiated without a solver or compiler. Found {strategy}. {way_out}")
    if type(rule) not in (SGD, Adam):
        raise ValueError(
            f"Stacked students' inner optimiser should be mechlearn.distill.SGD or Adam, which work element by element. Found "
            f"{type(rule).__name__}. {way_out}"
        )


def _build(tensor: Tensor) -> tuple[object, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.device


def _changed(p: int, name: str, value: Tensor | None, place: Tensor | None) -> ValueError:
    found, wanted = ("none" if tensor is None else " ".join(map(str, _build(tensor))) for tensor in (value, place))
    return ValueError(
        f"Stacked students should stay as they were stacked. Found of {name!r} of student {p} {found}, and {wanted} in the "
        "stack. Change, convert and move students before a PopulationDistillation is made, or pass stacked=False."
    )


def _check_trained(students: Sequence[nn.Module]) -> None:
    """Reject students with a frozen parameter: a stack would train it."""
    for p, student in enumerate(students):
        frozen = [name for name, parameter in student.named_parameters() if not parameter.requires_grad]
        if frozen:
            raise ValueError(
                f"Stacked students should train all of their parameters. Found {frozen[0]!r} of student {p} frozen. Pass "
                "stacked=False, or unfreeze it."
            )


def _check_apart(students: Sequence[nn.Module]) -> None:
    """Reject students that have a parameter in common: a stack would give each a copy of it."""
    owners: dict[int, int] = {}
    for p, student in enumerate(students):
        for name, parameter in student.named_parameters():
            other = owners.setdefault(id(parameter), p)
            if other != p:
                raise ValueError(
                    f"Stacked students should each have parameters of their own. Found {name!r} of student {p} in student "
                    f"{other}, too. Give each a layer of its own, for example with copy.deepcopy, or pass stacked=False."
                )


def _settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return what `_stacked_optimizer` takes from a student's optimiser, of either's."""
    return {name: optimizer.param_groups[0][name] for name in _FOLLOWED if name in optimizer.param_groups[0]}


def _stacked_optimizer(template: torch.optim.Optimizer, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser of a stack with a student's optimiser's settings; `inner_from` has seen them."""
    settings = template.param_groups[0]
    if type(template) is torch.optim.SGD:
        kept = {name: settings[name] for name in ("lr", "momentum", "weight_decay", "nesterov")}
        return torch.optim.SGD(parameters, **kept)
    decoupled = type(template) is torch.optim.AdamW or bool(settings.get("decoupled_weight_decay"))
    rate, decay = float(settings["lr"]), float(settings["weight_decay"])
    return StackedAdam(parameters, rate, decay, decoupled, settings["betas"], settings["eps"])
