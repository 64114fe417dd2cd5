"""`Cumulants`: what is summed over each skip, rewards for instance (thesis equation 2.3), and what a roll-out adds up.

Index conventions: b runs over trajectories; the cumulant of frame t is gained on the way from frame t to frame t + 1, as
recorders keep rewards, so that it is the R_{t+1} of thesis equation 2.1. There is one fewer than there are frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import Choice, check_callable, check_not_negative, check_share
from mechlearn.losses import Loss, SquaredError, evaluated
from mechlearn.trajectories import Trajectories


class Gained(NamedTuple):
    """What roll-outs have gained by the end of each step; behind a trajectory's last step the last stays.

    Attributes:
        sums: (batch, steps) the sum of predicted cumulants from the first frame on, each step's discounted by those before.
        discounts: (batch, steps) by what a value of the newest frame would be multiplied; 1 without a discount.
    """

    sums: Float[Tensor, "batch steps"]
    discounts: Float[Tensor, "batch steps"]


@dataclass(frozen=True, eq=False)
class Cumulants(Choice):
    """A number gained at every transition, of which a model predicts the sum over its skip, P(X_{t+k}, R_t^k | X_t).

    The model returns a pair then, its prediction and for each of n frames the sum; it is trained towards the sum over the skip
    that was matched. Which frame is matched depends on the prediction alone. With a discount gamma below 1 the sum is
    sum over i < k of gamma^i R_{t+i}, and the model returns (n, 2): the sum, and gamma^k itself, for it is not told how far it
    skips, and a roll-out must know by what to discount all that comes later. So values are predicted (thesis section 2.1.1).

    Cumulants of 1 with no discount are the skip's own length, the clock of a model that skips: `clock`.

    Args:
        values: trajectories of one number each, one fewer of them than frames: ``Recorded.rewards``, for instance. They belong
            to one batch, as a context does. None: for roll-outs alone.
        discount: gamma for each frame.
        loss: of predictions (n, 1) or (n, 2), from `mechlearn.losses` or your own.
        weight: what that loss is multiplied by before it is added to a step's; 0 trains no cumulant and still reports sums.

    Raises:
        TypeError: values that are no trajectories, or a loss that cannot be called.
        ValueError: frames of more than one number, a discount outside [0, 1], or a negative weight.
    """

    values: Trajectories | None
    discount: float = 1.0
    loss: Loss = field(default_factory=SquaredError)
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_share("discount", self.discount, why="it is what a frame's delay leaves of a cumulant")
        check_not_negative("weight", self.weight)
        check_callable("loss", self.loss, "a function of predictions and targets")
        _check_values(self.values)
        if self.values is not None and self.values.frame_shape != ():
            raise ValueError(
                f"`values` should hold one number for each transition, (batch, time). Found frames of shape "
                f"{self.values.frame_shape}. Choose one of them, or add them up before."
            )

    @classmethod
    def clock(cls, trajectories: Trajectories, weight: float = 1.0) -> "Cumulants":
        """Return cumulants of 1 for each transition: a model that predicts how many frames it skipped.

        Args:
            trajectories: at least two frames each.
            weight: of their squared error, in frames squared.
        """
        ones = torch.ones(len(trajectories), max(1, trajectories.time - 1), dtype=trajectories.value_dtype)
        return cls(Trajectories(ones, trajectories.lengths - 1), weight=weight)

    def __getitem__(self, rows: slice | Tensor | list[int]) -> "Cumulants":
        """Return those of some trajectories, chosen as these are."""
        return Cumulants(self._own()[rows], self.discount, self.loss, self.weight)

    @property
    def width(self) -> int:
        """How many numbers a model predicts of them: the sum, and the discount where there is one."""
        return 1 if self.discount == 1 else 2

    def check(self, trajectories: Trajectories) -> None:
        """Reject cumulants of another length than the trajectories' transitions.

        Raises:
            ValueError: that, or none.
        """
        found = self._own().lengths
        if len(found) != len(trajectories) or not torch.equal(found, trajectories.lengths - 1):
            raise ValueError(
                "`cumulants` should have one value for each transition, one fewer than frames: "
                f"{_few((trajectories.lengths - 1).tolist())}. Found {_few(found.tolist())}. Choose their rows as you chose "
                "the trajectories', and leave out what was gained behind the last frame."
            )

    def over(self, rows: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> Float[Tensor, "n width"]:
        """Return what was gained from frame ``starts[i]`` to frame ``ends[i]`` of trajectory ``rows[i]``, in float64."""
        values = self._own()
        steps = (rows, starts, np.subtract(ends, starts))
        b, t, skips = (torch.from_numpy(np.array(each, dtype=np.int64)) for each in steps)
        ahead = torch.arange(int(skips.max()))
        within = ahead < skips[:, None]
        at = (t[:, None] + ahead).clamp(max=values.time - 1)
        gained = values.values(torch.float64).cpu()[b[:, None], at].masked_fill(~within, 0)  # padding may be NaN
        sums = (gained * self.discount ** ahead.double()).sum(1)
        found = [sums] if self.width == 1 else [sums, self.discount ** skips.double()]
        return torch.stack(found, dim=1)

    def priced(self, predicted: Float[Tensor, "n width"], targets: Float[Tensor, "n width"]) -> Float[Tensor, " n"]:
        """Return what predicted cumulants add to the losses of their steps; with a weight of 0 nothing, whatever they are."""
        if self.weight == 0:
            predicted = predicted.where(predicted.isfinite(), 0.0)
        return self.weight * evaluated(self.loss, predicted, targets.to(predicted.device, predicted.dtype))

    def added(self, before: Float[Tensor, "2 n"], predicted: Float[Tensor, "n width"]) -> Float[Tensor, "2 n"]:
        """Return sums and discounts after one more step of a roll-out.

        A predicted discount is cut to [0, gamma]: a skip is of one frame or more.
        """
        sums, discounts = before
        gained = sums + discounts * predicted[:, 0]
        if self.width == 1:
            return torch.stack([gained, discounts])
        return torch.stack([gained, discounts * predicted[:, 1].clamp(0.0, self.discount)])

    def _own(self) -> Trajectories:
        if self.values is None:
            raise ValueError(
                "`cumulants` should hold values where trajectories are matched. Found None. Leave them out for roll-outs alone."
            )
        return self.values


def _check_values(values: object) -> None:
    if not isinstance(values, Trajectories | None):
        raise TypeError(
            f"`values` should be Trajectories of one number each. Found {type(values).__name__}. Rewards "
            "(batch, time) become such by Trajectories(rewards, lengths - 1), a ragged list by Trajectories.from_list."
        )


def _few(lengths: list[int]) -> str:
    return str(lengths) if len(lengths) <= 8 else f"{str(lengths[:8])[:-1]}, ...] of {len(lengths)}"
