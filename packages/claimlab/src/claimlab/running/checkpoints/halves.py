"""Early stopping where there are no further examples: each half of the test examples validates for the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from claimlab.rows import Row, number
from claimlab.running.checkpoints.stopping import EarlyStopping

if TYPE_CHECKING:
    from torch import Tensor


class Halves:
    """What a training had on one half of the test examples where the other half was best, mean over both.

    A half is every second example. Validation is as the test is, which flatters stopping.

    Args:
        looks: how many, as of `EarlyStopping`.
        best: whether what is measured is the better the "highest" or the "lowest".
    """

    def __init__(self, looks: int = 20, best: Literal["highest", "lowest"] = "highest") -> None:
        self._both = tuple(EarlyStopping(looks, best) for _ in range(2))

    def due(self, share: float) -> bool:
        """Say whether a look is due after a share of the training."""
        one, other = (stopping.due(share) for stopping in self._both)
        return one and other

    def look(self, share: float, name: str, found: Tensor, beside: Row | None = None) -> None:
        """Keep a half's mean where that of the other is better than at every look before.

        Args:
            share: of the training that is over.
            name: of what was measured.
            found: on each of the test examples, two or more.
            beside: what else was measured of the same model, on examples that nothing is stopped by.
        """
        for half, stopping in enumerate(self._both):
            stopping.look(share, float(found[1 - half :: 2].mean()), {name: float(found[half::2].mean()), **(beside or {})})

    @property
    def row(self) -> Row:
        """Each as `stopped_` and its name, and `stopped_at`, mean over both halves; nothing without a look."""
        one, other = (stopping.row for stopping in self._both)
        return {name: (number(one, name) + number(other, name)) / 2 for name in one}

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint of a training keeps of its looks."""
        return {str(half): stopping.state_dict() for half, stopping in enumerate(self._both)}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Go on where `state_dict` was taken."""
        for half, stopping in enumerate(self._both):
            stopping.load_state_dict(state[str(half)])
