"""Networks with columns known in training only, trained as the estimators do: untaught, with an auxiliary head, by LDT."""

from collections.abc import Callable
from typing import NamedTuple

from craik.estimators.distilling.meta import ldt
from craik.estimators.distilling.students import TRAINING, Lessons, Teach, alone, auxiliary
from craik.estimators.tables import Numbers, Scaling

NETWORKS: dict[str, Teach] = {"network": alone, "auxiliary head": auxiliary, "LDT": ldt}

Predict = Callable[[Numbers], Numbers]
"""From inputs to targets, in their own units."""


class Known(NamedTuple):
    """Training rows.

    Attributes:
        x: (n, J).
        privileged: (n, Q), known in training only.
        y: (n, K).
    """

    x: Numbers
    privileged: Numbers
    y: Numbers


def fitted(known: Known, seed: int) -> dict[str, Predict]:
    """Return each of `NETWORKS`, six configurations each, chosen and stopped early on folds of the rows."""
    scalings = [Scaling.of(values) for values in known]
    x, privileged, y = (scaling.applied(values) for scaling, values in zip(scalings, known, strict=True))
    lessons = Lessons(x, y, privileged, "regression", TRAINING, seed)
    return {name: _predictor(teach, lessons, scalings[0], scalings[2]) for name, teach in NETWORKS.items()}


def _predictor(teach: Teach, lessons: Lessons, inputs: Scaling, targets: Scaling) -> Predict:
    learnt = teach(lessons)
    return lambda x: learnt.says(inputs.applied(x), lessons.task) * targets.spread + targets.mean
