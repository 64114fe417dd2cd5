"""Early stopping: a model at the end of its training, and a copy of it where its validation was best."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from claimlab import EarlyStopping, Row, number

M = TypeVar("M", bound=nn.Module)

LOOKS = 10
"""How often a training is looked at."""


class Kept(Generic[M]):
    """What is trained, looked at while it is.

    Args:
        model: changed by its training, and by nothing here.
        validate: says how good it is; the higher, the better.
        name: of what it says, for a row; "" leaves it out.
    """

    def __init__(self, model: M, validate: Callable[[M], float], name: str = "") -> None:
        self.model, self.best = model, deepcopy(model).requires_grad_(False)
        self._validate, self._name, self._stopping = validate, name, EarlyStopping(LOOKS)

    @property
    def row(self) -> Row:
        """When `best` was copied and how good it was then; empty before the first look."""
        return self._stopping.row

    @property
    def share(self) -> float | None:
        """Of the training, after which `best` was copied; None before the first look."""
        return number(self.row, "stopped_at") if self.row else None

    @torch.no_grad()
    def look(self, share: float) -> None:
        """Validate after a share of the training, if it is time, and copy what is better than ever before."""
        if self._stopping.due(share):
            validation = self._validate(self.model)
            if self._stopping.improves(validation):
                self.best.load_state_dict(self.model.state_dict())
            self._stopping.look(share, validation, {self._name: validation} if self._name else {})

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint of a training keeps of its looks."""
        return {"stopping": self._stopping.state_dict(), "best": self.best.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Go on where `state_dict` was taken."""
        self._stopping.load_state_dict(state["stopping"])
        self.best.load_state_dict(state["best"])
