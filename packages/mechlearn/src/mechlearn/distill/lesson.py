"""`Lesson`: who teaches whom, at which layers, and by which losses."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from mechlearn import arguments
from mechlearn.distill.examples.causes import LOGITS, spread
from mechlearn.distill.forward.calls import place
from mechlearn.distill.forward.noise import draws
from mechlearn.distill.losses import Hidden, HiddenSquaredError, LabelLoss, TeachingLoss, check_losses
from mechlearn.distill.teachers.hoisting import Hoisting
from mechlearn.distill.teachers.targets import Targets

MEASURES = (None, "loss", "gradient")


@dataclass(frozen=True)
class Lesson(arguments.Choice):
    """A teacher with privileged data, its student without, and what the one asks of the other.

    The student is trained on L_train = L_y + alpha L_h (paper, algorithm 1, lines 4 to 8).

    Attributes:
        student: any module; its trainable parameters unroll. It is called with a batch's x, and hooks read its layers.
        teacher: any module over privileged data whose output is a `mechlearn.distill.TeacherOutput`: targets (and gates) for
            each supervised layer. `mechlearn.testing.check_teacher` tries one of yours.
        layers: paths of the student's supervised layers, as in `named_modules`; "" is its output. What they return, before
            whatever comes after them, is h. Of a layer that a pass calls several times name the calls, from "cell@0" on: each
            has targets of its own (`mechlearn.distill.calls`).
        label_loss: L_y, from predictions and labels to (B,) unreduced losses.
        alpha: the teaching coefficient; a number, or a scalar tensor, which compiled steps take without a second compilation.
            A tensor may be 0, as a schedule's or a measured one comes to be.
        teaching_loss: L_h, from hidden activations and targets to (B,) unreduced losses.
        hoisting: how the teacher is run over the batches of an unroll.
        alpha_relative_to: None takes alpha as it is printed. "loss" and "gradient" make it free of scale: L_h is multiplied
            by alpha |L_y| / L_h, or by alpha |dL_y/dtheta| / |dL_h/dtheta|, measured on the first batch of every unroll and
            of every call for ordinary steps, a constant from there on.

    Raises:
        ValueError: modules that cannot be run as functions or have nothing to train, a parameter that student and teacher both
            train, layers that are none of the student's, an alpha that is not positive, or a tensor that is negative or no
            finite number.
        TypeError: a module, a loss, names or a number that are none.

    Example:
        >>> from torch import nn
        >>> from mechlearn.distill import Lesson, UnitsTeacher
        >>> student = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
        >>> teacher = UnitsTeacher(nn.Linear(3, 4), {"0": 4})  # from three privileged numbers to four targets
        >>> lesson = Lesson(student, teacher, ["0"], lambda prediction, y: (prediction[:, 0] - y) ** 2, alpha=1.0)
    """

    student: nn.Module
    teacher: nn.Module
    layers: Sequence[str]
    label_loss: LabelLoss
    alpha: float | Tensor
    teaching_loss: TeachingLoss = field(default_factory=HiddenSquaredError)
    hoisting: Hoisting = field(default_factory=Hoisting)
    alpha_relative_to: str | None = None

    def __post_init__(self) -> None:
        """Reject what cannot be taught."""
        for name, module in (("student", self.student), ("teacher", self.teacher)):
            arguments.check_kind(name, module, nn.Module, "a torch.nn.Module", way_out="Give a module, not its class.")
        self.check_modules()
        check_apart(self.student, self.teacher)
        check_layers(self.student, self.layers)
        for name, loss in (("label_loss", self.label_loss), ("teaching_loss", self.teaching_loss)):
            what = "a function that gives one value for each example"
            arguments.check_callable(name, loss, what, way_out="Give an instance, not its class.")
        _check_alpha(self.alpha)
        arguments.check_kind("hoisting", self.hoisting, Hoisting, "a mechlearn.distill.Hoisting")
        arguments.check_one_of("alpha_relative_to", self.alpha_relative_to, MEASURES)
        object.__setattr__(self, "layers", tuple(self.layers))

    def check_modules(self) -> None:
        """Reject modules that cannot be run as functions; asked again before each unroll, as modes may have changed."""
        check_module("student", self.student)
        check_module("teacher", self.teacher)

    def label_losses(self, prediction: Tensor, y: Tensor) -> Float[Tensor, " b"]:
        """Return L_y of each example.

        Raises:
            ValueError: a label loss that is not one value for each example, or that wants probabilities and got others.
        """
        try:
            losses = self.label_loss(prediction, y)
        except RuntimeError as error:
            if "between 0 and 1" not in str(error):
                raise
            raise ValueError(
                f"A label loss of probabilities should get predictions in [0, 1]. Found {spread(prediction)}. {LOGITS}"
            ) from error
        check_losses("label", losses, len(y))
        return losses

    def teaching_losses(self, hidden: Hidden, targets: Targets, examples: int) -> Float[Tensor, " b"]:
        """Return L_h of each of so many examples.

        Raises:
            ValueError: a teaching loss that is not one value for each example.
        """
        losses = self.teaching_loss(hidden, targets)
        check_losses("teaching", losses, examples)
        return losses


def _check_alpha(alpha: float | Tensor) -> None:
    # A tensor's value may be unknown yet, in a trace.
    if isinstance(alpha, Tensor):
        arguments.check_shape("alpha", alpha, way_out="A lesson has one coefficient: give a number, or a tensor of no axes.")
        for one in arguments.ends(alpha):
            arguments.check_not_negative("alpha", one, why="below 0 the student would flee what the teacher asks for")
    else:
        arguments.check_positive("alpha", alpha, why="at 0 the teacher has no part in what the student learns")


def with_coefficients(lesson: Lesson, alpha: float | Tensor) -> Lesson:
    """Return a lesson of students in a stack, which have one coefficient each, (P,), as they were measured."""
    found = copy(lesson)
    object.__setattr__(found, "alpha", alpha)
    object.__setattr__(found, "alpha_relative_to", None)
    return found


def check_apart(student: nn.Module, teacher: nn.Module) -> None:
    """Reject a trainable parameter of both: a meta-step would move the student, and its own steps the teacher."""
    own = {id(parameter): name for name, parameter in student.named_parameters() if parameter.requires_grad}
    for name, parameter in teacher.named_parameters():
        if id(parameter) in own:
            raise ValueError(
                "Student and teacher should have no parameter in common that is trained. Found the teacher's "
                f"{name!r}, which is the student's {own[id(parameter)]!r}. Give each a layer of its own, for example with "
                "copy.deepcopy, or freeze it."
            )


def check_layers(student: nn.Module, layers: Sequence[str]) -> None:
    """Reject names that are no modules of the student; suggest the nearest."""
    _check_names(layers)
    if not layers:
        raise ValueError(
            "`layers` should name at least one layer of the student for the teacher to supervise. Found none. Names are "
            "those of "
            'student.named_modules(); "" is the student\'s output.'
        )
    _check_known(student, layers)


def _check_names(layers: object) -> None:
    if (
        isinstance(layers, str)
        or not isinstance(layers, Sequence)
        or not all(isinstance(name, str) for name in cast(Sequence[object], layers))
    ):
        raise TypeError(
            f"`layers` should be a list of names of the student's layers. Found {layers!r} of type {type(layers).__name__}. "
            f"Write {[layers] if isinstance(layers, str) else ['read']!r}; names are those of student.named_modules()."
        )


def _check_known(student: nn.Module, layers: Sequence[str]) -> None:
    paths = [path for path, _ in student.named_modules()]
    places = [place(name, paths) for name in layers]
    for name, (path, _) in zip(layers, places, strict=True):
        if path not in paths:
            near = get_close_matches(path, paths, n=1, cutoff=0.0)
            raise ValueError(
                f"Every supervised layer should be a module of the student. Found {name!r}, which is none; did you mean "
                f"{near[0] if near else ''!r}? Names are those of student.named_modules()."
            )
    whole = {path for path, call in places if call is None}
    if len(set(places)) != len(places) or any(path in whole for path, call in places if call is not None):
        raise ValueError(
            f"Every supervised layer should be named once, or each of its calls once. Found {list(layers)}. Leave the repeated "
            "one out."
        )


def check_module(what: str, module: nn.Module) -> None:
    """Reject a module that cannot be run as a function, or that has nothing to train."""
    lazy = [name for name, p in module.named_parameters() if isinstance(p, nn.parameter.UninitializedParameter)]
    if lazy:
        raise ValueError(
            f"The {what}'s parameters should have their shapes. Found {lazy[0]!r} without one. Call the {what} once on a batch."
        )
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise ValueError(
            f"The {what} should have at least one parameter that requires a gradient. Found none. Unfreeze it, for example "
            f"with {what}.requires_grad_()."
        )
    for name, layer in module.named_modules():
        if hasattr(layer, "_orig_mod") or getattr(layer, "_compiled_call_impl", None) is not None:
            raise ValueError(
                f"The {what} should not be compiled: a compiled graph runs with its own parameters. Found {name!r} "
                "compiled. Pass the module as it was before, and the strategy Adjoint(compile=True)."
            )
        if draws(layer):
            raise ValueError(
                f"The {what} should not draw random numbers: an unroll and its backward pass would see different ones, and "
                f"they come from the global generator. Found {name!r} ({type(layer).__name__}) in train mode. Put it in "
                "eval mode, or set its probability to 0."
            )
