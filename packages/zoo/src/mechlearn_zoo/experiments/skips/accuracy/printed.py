"""Tables A.1 and A.2: what the authors' search found for each method and world, "used to produce the resulting plots"."""

from dataclasses import replace
from typing import NamedTuple

from mechlearn_zoo.experiments.skips.comparing.networks import Architecture
from mechlearn_zoo.experiments.skips.comparing.outcomes import Comparison
from mechlearn_zoo.experiments.skips.comparing.training import Method, Task


class Printed(NamedTuple):
    """A column of either table; a method without a horizon or exploration has None there."""

    learning_rate: float
    decay_steps: int
    horizon: int | None
    exploration_steps: int | None
    architecture: Architecture
    kernels: int


_STEP_OF_2 = {
    "room-runner": Printed(5e-4, 15_000, None, None, "simple", 48),
    "funnel-board": Printed(7.5e-4, 15_000, None, None, "strided", 32),
}

PRINTED: dict[Task, dict[Method, Printed]] = {
    "room-runner": {
        "asi": Printed(5e-4, 15_000, 21, 7_500, "strided", 48),
        "asi-no-exploration": Printed(5e-4, 15_000, 18, None, "simple", 48),
        "fixed-1": Printed(5e-4, 15_000, None, None, "simple", 48),
        "fixed-2": _STEP_OF_2["room-runner"],
        "fixed-3": _STEP_OF_2["room-runner"],
    },
    "funnel-board": {
        "asi": Printed(5e-4, 15_000, 21, 15_000, "dilated", 48),
        "asi-no-exploration": Printed(7.5e-4, 10_000, 18, None, "strided", 32),
        "fixed-1": Printed(7.5e-4, 15_000, None, None, "dilated", 32),
        "fixed-2": _STEP_OF_2["funnel-board"],
        "fixed-3": _STEP_OF_2["funnel-board"],
    },
}
"""By world and method. A step of 3 has the settings of 2 (section 2.3.2); longer steps are in neither table."""


def column(task: Task, method: Method) -> Printed:
    """Return a method's column."""
    columns = PRINTED[task]
    if method not in columns:
        raise ValueError(f"printed settings are of {', '.join(columns)}. Found {method!r}. Take --settings shared.")
    return columns[method]


def with_printed(config: Comparison, method: Method) -> Comparison:
    """Return settings with those that the tables print for a method in the config's world."""
    found = column(config.task, method)._asdict()
    return replace(config, **{name: value for name, value in found.items() if value is not None})
