"""`Matched`, what matching gives back, and `Steps`, which adds it up step by step."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mechlearn.arguments import all_finite
from mechlearn.skips.simulators.cumulants import Cumulants
from mechlearn.skips.simulators.outcome import Layout
from mechlearn.trajectories import Trajectories

Average = Literal["trajectories", "steps"]
"""How step losses become the batch's loss."""

LATER = "a prediction is matched with a later frame"
"""Why what a matching is told in frames counts from 1."""


class Matched(NamedTuple):
    """A batch of trajectories with their predictions matched; b runs over trajectories, u over a trajectory's steps.

    Everything but the losses is on the CPU. Behind a trajectory's last step `skips` and `step_losses` are 0, `matched` is -1
    and `explored` is False.

    Attributes:
        loss: the batch's loss, the one number to differentiate.
        trajectory_losses: (batch,) the mean of each trajectory's step losses.
        step_losses: (batch, steps) each step's loss, detached.
        steps: (batch,) how many steps each trajectory took.
        skips: (batch, steps) how many frames ahead each match lies, 1 or more; at most the horizon, where the
            matching has one.
        matched: (batch, steps) the matched frame, counted from 0; the running sum of the skips, from the last of the frames on
            that a model with a memory is shown first.
        explored: (batch, steps) True where the match was drawn at random.
        evaluations: how many frames the model was evaluated on, over the whole batch.
        predictions: what the model returned at each step, detached, (batch, steps, ...), logits for instance (the loss's
            method `frame` makes frames of them); None unless they were asked for.
        cumulants: (batch, steps, width) what was gained over each skip, in float64: the sum, with a discount its own beside
            it, 0 behind a trajectory's last step; None without `Cumulants`. What a wrong prediction of it costs is part of the
            step's loss.
    """

    loss: Float[Tensor, ""]
    trajectory_losses: Float[Tensor, " batch"]
    step_losses: Float[Tensor, "batch steps"]
    steps: Int[Tensor, " batch"]
    skips: Int[Tensor, "batch steps"]
    matched: Int[Tensor, "batch steps"]
    explored: Bool[Tensor, "batch steps"]
    evaluations: int
    predictions: Trajectories | None
    cumulants: Float[Tensor, "batch steps width"] | None = None

    @property
    def mean_skip(self) -> float:
        """How many frames ahead a match lies on average, over all steps of the batch."""
        return int(self.skips.sum()) / int(self.steps.sum())


class Chosen(NamedTuple):
    """For each of n predictions the frame it is matched with, and whether that was drawn at random; None where none was."""

    frames: Sequence[int]
    explored: Sequence[bool] | None = None


class Steps:
    """The steps of a batch of trajectories, in the order in which they are added.

    Args:
        lengths: of the trajectories, in frames.
        keep: whether to keep predictions.
        layout: of the predictions that are added.
        cumulants: what is summed over each skip, where something is.

    Attributes:
        evaluations: how many frames the model was evaluated on; whoever evaluates it adds them.
    """

    def __init__(
        self, lengths: Sequence[int], keep: bool, layout: Layout | None = None, cumulants: Cumulants | None = None
    ) -> None:
        self._lengths, self._keep = lengths, keep
        self._layout, self._cumulants = layout or Layout(), cumulants
        self._gains: list[Tensor] = []
        self._rows: list[int] = []
        self._steps: list[int] = []
        self._skips: list[int] = []
        self._frames: list[int] = []
        self._explored: list[bool] = []
        self._losses: list[Tensor] = []
        self._predictions: list[Tensor] = []
        self.evaluations = 0

    def add(
        self,
        rows: Sequence[int],
        steps: Sequence[int],
        times: Sequence[int],
        chosen: Chosen,
        losses: Float[Tensor, " n"] | None,
        predictions: Float[Tensor, "n *z"],
    ) -> None:
        """Add one step of each of some trajectories: step ``steps[i]`` of trajectory ``rows[i]``, made at ``times[i]``.

        Losses that are None are to be added by `evaluated`.

        Raises:
            ValueError: a frame that does not lie ahead of the one the prediction was made at, or behind the trajectory's end.
        """
        self.check(rows, times, chosen)
        self._rows += rows
        self._steps += steps
        self._frames += chosen.frames
        self._skips += [frame - time for frame, time in zip(chosen.frames, times, strict=True)]
        self._explored += [False] * len(rows) if chosen.explored is None else chosen.explored
        if losses is not None:
            self._losses.append(losses)
        if self._cumulants is not None:
            self._gains.append(self._layout.cumulants(predictions))
        if self._keep:  # a model may return the same memory each time
            self._predictions.append(self._layout.prediction(predictions).detach().clone())

    def evaluated(self, losses: Callable[[Sequence[int], Sequence[int]], Float[Tensor, " n"]]) -> None:
        """Add the losses of all steps at once, which is quicker for small frames: from trajectories and matched frames."""
        self._losses = [losses(self._rows, self._frames)]

    def matched(self, average: Average) -> Matched:
        """Add the steps up.

        Raises:
            FloatingPointError: predictions that are to be kept are not finite.
        """
        losses, gained = torch.cat(self._losses), self._gained()
        if self._cumulants is not None and gained is not None:
            losses = losses + self._cumulants.priced(torch.cat(self._gains), gained).to(losses.dtype)
        at = rows, _ = _whole(self._rows), _whole(self._steps)
        steps = torch.bincount(rows, minlength=len(self._lengths))
        # Half precision would stop to count at 256 steps of a loss of 1.
        wide = torch.promote_types(losses.dtype, torch.float32)
        sums = losses.new_zeros(len(self._lengths), dtype=wide).index_add(0, rows.to(losses.device), losses.to(wide))
        means = (sums / steps.to(losses.device)).to(losses.dtype)
        return Matched(
            loss=means.mean() if average == "trajectories" else losses.mean(),
            trajectory_losses=means,
            step_losses=self._table(losses.detach().cpu(), 0, at),
            steps=steps,
            skips=self._table(_whole(self._skips), 0, at),
            matched=self._table(_whole(self._frames), -1, at),
            explored=self._table(torch.from_numpy(np.array(self._explored, dtype=bool)), 0, at),
            evaluations=self.evaluations,
            predictions=Trajectories(self._table(self._kept(), 0, at), steps) if self._keep else None,
            cumulants=None if gained is None else self._table(gained, 0, at),
        )

    def _kept(self) -> Tensor:
        kept = torch.cat(self._predictions)
        if not all_finite(kept):
            bad = int(kept.isfinite().reshape(len(kept), -1).all(1).logical_not().nonzero()[0])
            raise FloatingPointError(
                f"Every prediction that is kept should be finite. Found one that is not in trajectory {self._rows[bad]} of the "
                f"batch, step {self._steps[bad]}. Lower the learning rate or clip gradients; nothing was changed."
            )
        return kept

    def _gained(self) -> Tensor | None:
        """Return what was gained over each skip."""
        if self._cumulants is None:
            return None
        starts = [frame - skip for frame, skip in zip(self._frames, self._skips, strict=True)]
        return self._cumulants.over(self._rows, starts, self._frames)

    def check(self, rows: Sequence[int], times: Sequence[int], chosen: Chosen) -> None:
        """Reject a frame that does not lie ahead of the one the prediction was made at, or behind the trajectory's end."""
        for b, time, frame in zip(rows, times, chosen.frames, strict=True):
            if not time < frame < self._lengths[b]:
                raise ValueError(
                    f"A prediction made at frame {time} should be matched with one of the frames {time + 1} to "
                    f"{self._lengths[b] - 1}, those that follow in its trajectory. Found frame {frame} in trajectory {b} of "
                    "the batch. Mend the matching."
                )

    def _table(self, values: Tensor, padding: int, at: tuple[Tensor, Tensor]) -> Tensor:
        """Return values, one for each step, as (batch, steps, ...)."""
        table = values.new_full((len(self._lengths), max(self._steps) + 1, *values.shape[1:]), padding)
        table[at] = values
        return table


def _whole(numbers: list[int]) -> Tensor:
    return torch.from_numpy(np.array(numbers, dtype=np.int64))  # numpy reads lists faster than torch
