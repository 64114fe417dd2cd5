"""Who is taught by one teacher, when a student starts again, and how the students' meta-gradients become the teacher's.

The thesis' outlook (chapter 5): a teacher of one student may overfit to it, one of many must be of use to any. Index
convention: p a student of P.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from mechlearn import arguments


@dataclass(frozen=True)
class Every(arguments.Choice):
    """Each student starts again after so many rounds, at staggered times, so that the teacher sees young and old ones.

    Student p of P does after round n (p + 1) / P, rounded down, and then every n rounds.

    Attributes:
        rounds: n.

    Raises:
        ValueError: fewer than one round.
    """

    rounds: int

    def __post_init__(self) -> None:
        """Reject fewer than one round."""
        arguments.check_whole("rounds", self.rounds, 1)

    def due(self, finished: int, losses: Float[Tensor, " p"], ages: Int[Tensor, " p"]) -> Bool[Tensor, " p"]:
        """Return which students start again after so many finished rounds."""
        del ages
        first = self.rounds * (torch.arange(len(losses)) + 1) // len(losses)
        return (finished >= first) & ((finished - first) % self.rounds == 0)


@dataclass(frozen=True)
class WhenSolved(arguments.Choice):
    """A student starts again when its validation loss after an unroll is below a threshold.

    Attributes:
        loss: the threshold.
        least: rounds that a student is kept at least.

    Raises:
        ValueError: fewer than one round.
    """

    loss: float
    least: int = 1

    def __post_init__(self) -> None:
        """Reject anything but a threshold, and fewer than one round."""
        arguments.check_finite("loss", self.loss)
        arguments.check_whole("least", self.least, 1)

    def due(self, finished: int, losses: Float[Tensor, " p"], ages: Int[Tensor, " p"]) -> Bool[Tensor, " p"]:
        """Return which students start again."""
        del finished
        return (losses.cpu() < self.loss) & (ages >= self.least)


Renew = Callable[[int, Generator], nn.Module]
"""From a student's number p and a generator to a fresh one in its place, of the same architecture."""

Combine = Callable[[Tensor], Tensor]
"""From the students' meta-gradients of one parameter of the teacher, (P, *shape), to what its optimiser gets, (*shape)."""


@dataclass(frozen=True)
class Population(arguments.Choice):
    """Several students of one teacher.

    Attributes:
        students: P modules, the first of them the lesson's. All have the supervised layers, of the same shapes; all else may
            differ where they are not stacked.
        renew: makes a fresh student; needed where any starts again.
        reset: when one does; None never.
        combine: how the students' meta-gradients are combined; None takes their mean. Students may be environments:
            ``lambda g: mechlearn.agreement.combine(AndMask(0.8), g).gradient``.
        stacked: train all students as one stack with a leading axis, at once. Needs one architecture without buffers and an
            inner optimiser of ours. What it finds is what it would find student by student, within rounding error.

    Raises:
        ValueError: no student, one that comes twice, nobody to make fresh ones.
        TypeError: a student, a function or a reset that is none.
    """

    students: Sequence[nn.Module]
    renew: Renew | None = None
    reset: Every | WhenSolved | None = None
    combine: Combine | None = None
    stacked: bool = True

    def __post_init__(self) -> None:
        """Reject anything but a population."""
        arguments.check_flag("stacked", self.stacked)
        arguments.check_kind("students", self.students, Sequence, "a list of modules", way_out="Write [student, ...].")
        for p, student in enumerate(self.students):
            arguments.check_kind(f"students[{p}]", student, nn.Module, "a torch.nn.Module", way_out="Give a module.")
        if not self.students or len({id(student) for student in self.students}) < len(self.students):
            raise ValueError(
                f"A population should have at least one student, and each once. Found {len(self.students)}, "
                f"{len({id(student) for student in self.students})} of them different. Make each a module of its own."
            )
        for name, function in (("renew", self.renew), ("combine", self.combine)):
            if function is not None:
                arguments.check_callable(name, function, "a function, or None")
        if self.reset is not None:
            arguments.check_kind("reset", self.reset, (Every, WhenSolved), "Every(...), WhenSolved(...) or None")
            if self.renew is None:
                raise ValueError("Students that start anew should be made by somebody. Found renew=None. Pass a function.")
        object.__setattr__(self, "students", tuple(self.students))


def check_fresh(student: nn.Module, fresh: object) -> nn.Module:
    """Return a fresh student; refuse one of another architecture."""
    arguments.check_kind("renew", fresh, nn.Module, "a function that returns a torch.nn.Module")
    assert isinstance(fresh, nn.Module)
    wanted, found = ([(name, t.shape) for name, t in one.state_dict().items()] for one in (student, fresh))
    if wanted != found:
        raise ValueError(
            "A fresh student should have the architecture of the one before. Found other parameters or shapes. Let `renew` "
            "look at the number p that it gets."
        )
    return fresh


def start_anew(student: nn.Module, fresh: nn.Module) -> None:
    """Give a student the weights and buffers of a fresh one, in place."""
    with torch.no_grad():
        for old, new in zip(student.state_dict().values(), fresh.state_dict().values(), strict=True):
            old.copy_(new)
