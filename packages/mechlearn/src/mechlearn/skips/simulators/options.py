"""`Options`: which of several policies runs at each frame, for one model of all of them (thesis section 2.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from mechlearn.arguments import Choice, check_ids, check_whole
from mechlearn.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Options(Choice):
    """Which option runs, as the context of a model ``f(frames, ids)`` of all; no prediction passes an option's end.

    The thesis proposes one model an option (section 2.5) and expects more of learning both together: one model here shares what
    options have in common, and its skips end where options do. Every matching that goes step by step sees windows that are cut
    at the running option's end, whose frame is a match like the others; `OrEnd` reaches it from beyond the horizon, too.

    In a roll-out an option is a static context: roll out until it ends, then go on from there with the next. Whether it has
    ended can be predicted, too, as the sum over a skip of `Cumulants` that are 1 where an option ends.

    Args:
        ids: (batch, time) the option that runs from each frame to the next, 0 .. count - 1; the last frame's may be left out,
            and what stands behind a trajectory's own is never looked at. The model is given (n,) of them in int64. Of an
            option that starts again as it ends, neither is seen: give such runs ids of their own.
        count: of options.

    Raises:
        TypeError: ids that are no tensor of whole numbers, or a count that is no whole number.
        ValueError: ids of another shape, or a count below 1.
    """

    ids: Int[Tensor, "batch time"]
    count: int

    def __post_init__(self) -> None:
        check_ids("ids", self.ids, "batch", "time")
        check_whole("count", self.count, 1)

    def __getitem__(self, rows: slice | Tensor | list[int]) -> "Options":
        """Return those of some trajectories, chosen as these are."""
        return Options(self.ids[rows], self.count)

    def at(self, rows: Tensor, times: Tensor) -> Int[Tensor, " n"]:
        """Return the option that runs at frame ``times[i]`` of trajectory ``rows[i]``."""
        return self.ids[rows, times].long()

    def check(self, trajectories: Trajectories) -> None:
        """Reject options of another batch, too few of them, and ids out of range.

        Raises:
            ValueError: that.
        """
        transitions = trajectories.lengths - 1
        if len(self.ids) != len(trajectories) or self.ids.shape[1] < int(transitions.max()):
            raise ValueError(
                f"`ids` should hold an option for each of {len(trajectories)} trajectories, of their first "
                f"{int(transitions.max())} frames. Found shape {tuple(self.ids.shape)}. Choose them as the trajectories."
            )
        ids = self.ids.cpu()
        own = torch.arange(ids.shape[1]) < transitions[:, None]
        wrong = (((ids < 0) | (ids >= self.count)) & own).nonzero()
        if len(wrong):
            b, t = wrong[0].tolist()
            raise ValueError(
                f"Every option should be one of 0 to {self.count - 1}. Found {int(ids[b, t])} in trajectory {b}, frame {t} "
                "(both counted from 0). Give a larger count, or mend the ids."
            )

    def ends(self, lengths: Sequence[int]) -> list[list[int]]:
        """Return for each trajectory and each frame but the last the frame at which the option that runs there ends."""
        found: list[list[int]] = []
        for ids, length in zip(self.ids.cpu().numpy(), lengths, strict=True):
            own = ids[: length - 1]
            switches = np.append(np.flatnonzero(own[1:] != own[:-1]) + 1, length - 1)
            found.append(switches[np.searchsorted(switches, np.arange(length - 1), side="right")].tolist())
        return found
