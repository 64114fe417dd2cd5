"""Early stopping, looked at afterwards: what a training had where its validation was best, beside what it has at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from claimlab.rows import Row, Scalar


@dataclass
class EarlyStopping:
    """Keeps what was measured where validation was best, at looks that are spread evenly over a training.

        stopping = EarlyStopping()
        for step in range(steps):
            ...  # a step
            if stopping.due((step + 1) / steps):
                stopping.look((step + 1) / steps, accuracy(model, validation), {"accuracy": accuracy(model, test)})
        yield {"accuracy": accuracy(model, test), **stopping.row}  # with stopped_accuracy and stopped_at

    A look changes nothing of the training: what it needs must not draw from the training's generators.

    Attributes:
        looks: how many, the last at the end.
        best: whether validation is the better the "highest" (an accuracy) or the "lowest" (an error).
        looked: after how many looks' worth of the training the last was due.
        validation: the best so far; None before the first look.
        row: what was measured there, each as `stopped_` and its name, and `stopped_at`, the share of the training.

    Raises:
        ValueError: if there is no look.
    """

    looks: int = 20
    best: Literal["highest", "lowest"] = "highest"
    looked: int = 0
    validation: float | None = None
    row: Row = field(default_factory=dict[str, Scalar])

    def __post_init__(self) -> None:
        if self.looks < 1:
            raise ValueError(f"looks should be 1 or more: there is one at the end. Found {self.looks}.")

    def due(self, share: float) -> bool:
        """Say whether a look is due after a share of the training: each is once, at the first step that reaches its share."""
        reached = min(math.floor(share * self.looks + 1e-9), self.looks)
        if reached <= self.looked:
            return False
        self.looked = reached
        return True

    def improves(self, validation: float) -> bool:
        """Say whether validation is better than at every look before, so that a look would be kept."""
        now, before = self._ordered(validation), self.validation
        return before is None or (now > before if self.best == "highest" else now < before)

    def _ordered(self, validation: float) -> float:
        worst = -math.inf if self.best == "highest" else math.inf
        return worst if math.isnan(validation) else validation

    def look(self, share: float, validation: float, found: Row) -> None:
        """Keep what was found if validation is better than at every look before; of equals the first stays.

        Args:
            share: of the training that is over.
            validation: on data that nothing is trained or tested on. One that is not a number is worse than any.
            found: on test data, by name.
        """
        if self.improves(validation):
            self.validation = self._ordered(validation)
            self.row = {"stopped_at": share, **{f"stopped_{name}": value for name, value in found.items()}}

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint of a training keeps of its looks."""
        return {"looked": self.looked, "validation": self.validation, "row": dict(self.row)}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Go on where `state_dict` was taken."""
        self.looked, self.validation, self.row = state["looked"], state["validation"], dict(state["row"])
