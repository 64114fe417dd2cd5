"""Schedules: functions from the number of a training step, counted from 0, to a float.

A schedule is any such function. Those of thesis appendix A.0.3 are here, and those of the published code.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mechlearn.arguments import check_finite, check_flag, check_positive, check_whole

NEVER = "For a number that never changes use Constant."
"""The way out of no steps at all."""

Schedule = Callable[[int], float]
"""From a step, counted from 0, to a number."""


@dataclass(frozen=True)
class Constant:
    """The same number at every step.

    >>> Constant(0.5)(1000)
    0.5
    """

    value: float

    def __post_init__(self) -> None:
        check_finite("value", self.value)

    def __call__(self, step: int) -> float:
        """Return the number."""
        _check_step(step)
        return self.value


@dataclass(frozen=True)
class Linear:
    """From `start` in a straight line to `end`, which is reached at step `steps` and kept.

    With the defaults it is max(0, 1 - i/K), the schedule of exploration of thesis appendix A.0.3; K is `steps`.

    >>> [Linear(4)(step) for step in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]

    Raises:
        ValueError: fewer than one step.
    """

    steps: int
    start: float = 1.0
    end: float = 0.0

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, least=1, way_out=NEVER)
        check_finite("start", self.start)
        check_finite("end", self.end)

    def __call__(self, step: int) -> float:
        """Return the number at a step."""
        _check_step(step)
        return self.end if step >= self.steps else self.start + (self.end - self.start) * step / self.steps


@dataclass(frozen=True)
class Inverse:
    """1 / (1 + i / steps): the scheduled sampling of the published code, where `steps` is 4000.

    >>> [Inverse(4000)(step) for step in (0, 4000, 12000)]
    [1.0, 0.5, 0.25]

    Raises:
        ValueError: `steps` not above 0.
    """

    steps: float | int = 4000

    def __post_init__(self) -> None:
        check_positive("steps", self.steps, way_out=NEVER)

    def __call__(self, step: int) -> float:
        """Return the number at a step."""
        _check_step(step)
        return 1 / (1 + step / self.steps)


@dataclass(frozen=True)
class StepDecay:
    """`value`, times `factor` after every `steps` steps, or after the first `steps` only.

    Thesis appendix A.0.3 drops the learning rate once; the published code goes on dropping it every `steps` steps.

    Args:
        value: the number at the start.
        steps: the number of steps before a drop.
        factor: what a drop multiplies by.
        repeated: drop again every `steps` steps.

    >>> [StepDecay(1.0, 10, 0.5)(step) for step in (9, 10, 20)]
    [1.0, 0.5, 0.5]
    >>> [StepDecay(1.0, 10, 0.5, repeated=True)(step) for step in (9, 10, 20)]
    [1.0, 0.5, 0.25]

    Raises:
        ValueError: fewer than one step.
    """

    value: float
    steps: int
    factor: float = 0.2
    repeated: bool = False

    def __post_init__(self) -> None:
        check_finite("value", self.value)
        check_whole("steps", self.steps, least=1, way_out=NEVER)
        check_finite("factor", self.factor)
        check_flag("repeated", self.repeated)

    def __call__(self, step: int) -> float:
        """Return the number at a step."""
        _check_step(step)
        drops = step // self.steps
        return self.value * self.factor ** (drops if self.repeated else min(drops, 1))


def _check_step(step: int) -> None:
    check_whole("step", step, way_out="Steps are counted from 0.")
