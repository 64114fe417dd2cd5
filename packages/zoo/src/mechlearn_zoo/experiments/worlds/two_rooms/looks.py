"""Looks at a way while it trains: each score on test data where the same score on validation data is best."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import torch

from claimlab import EarlyStopping, Row, number

Made = TypeVar("Made")
"""What a way has made of the data by then."""

BEST: Mapping[str, Literal["highest", "lowest"]] = {"purity": "highest", "shared": "lowest", "feasible": "highest"}
"""The scores that ways are compared by, and which is the better."""


def _each() -> dict[str, EarlyStopping]:
    return {key: EarlyStopping(best=best) for key, best in BEST.items()}


@dataclass
class Looks(Generic[Made]):
    """Twenty looks, and of each score the best by validation.

    Args:
        validation: what a way scores on points, places and plans that nothing is trained or judged on.
        test: what it scores where it is judged.
        stopping: of each score.
    """

    validation: Callable[[Made], Row]
    test: Callable[[Made], Row]
    stopping: dict[str, EarlyStopping] = field(default_factory=_each)

    def look(self, share: float, make: Callable[[], Made]) -> None:
        """Look after a share of the training, where that is due, at what a way has made by then."""
        due = [one.due(share) for one in self.stopping.values()]
        if any(due):
            with torch.no_grad():
                found = make()
                validation, test = self.validation(found), self.test(found)
            for key, one in self.stopping.items():
                one.look(share, number(validation, key), {key: test[key]})

    @property
    def row(self) -> Row:
        """What a way scores where validation stops it: `stopped_` and a score, and when, `stopped_at_` and the score."""
        return {
            f"stopped_at_{key}" if name == "stopped_at" else name: value
            for key, one in self.stopping.items()
            for name, value in one.row.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint of a training keeps of its looks."""
        return {key: one.state_dict() for key, one in self.stopping.items()}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Go on where `state_dict` was taken."""
        for key, one in self.stopping.items():
            one.load_state_dict(state[key])
