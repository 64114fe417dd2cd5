"""What is asked of a table or of trajectories, and what comes out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mechlearn.tables.fitting import Task, Training
from mechlearn.tables.saving.models import Model, Stepping
from mechlearn.tables.saving.parts import NOWHERE, Parts
from mechlearn.tables.verdict import Verdict

Columns = Mapping[str, NDArray[Any]]
"""A table, by the columns' names."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a table, or of trajectories.

    Args:
        target: the column to predict; of trajectories none.
        task: "classification" or "regression"; from the target if None.
        seed: of everything random.
        budget: seconds, split evenly over the candidates.
        anonymous: call sites "site 1", "site 2", ... in everything that is written.
        training: of the networks; each kind's own if None.
        progress: told how many of how many fits are done.
        parts: results that are there already, and where to put others; everything is made if None.
    """

    target: str
    task: Task | None = None
    seed: int = 0
    budget: float | None = None
    anonymous: bool = False
    training: Training | None = None
    progress: Callable[[int, int], None] | None = None
    parts: Parts = NOWHERE


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out: the report's facts, plain values, the verdict to go by, and the model to keep."""

    facts: Mapping[str, Any]
    verdict: Verdict
    model: Model | Stepping
