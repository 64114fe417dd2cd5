"""Collecting steps of many trajectories, and adding them up to a result."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from craik.skips.matched import Matched
from craik.skips.matchings.greedy import Chosen
from craik.trajectories import Trajectories

Average = Literal["trajectories", "steps"]
"""How step losses become the batch's loss."""


def check_average(average: str) -> None:
    """Refuse another word."""
    if average not in ("trajectories", "steps"):
        raise ValueError(f'`average` should be "trajectories" or "steps". Found {average!r}.')


class Track:
    """The steps of a batch of trajectories, in the order in which they are added.

    Args:
        count: the number of trajectories.
        keep: whether to keep predictions.
    """

    def __init__(self, count: int, keep: bool) -> None:
        self._count, self._keep = count, keep
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
        losses: Tensor,
        predictions: Tensor,
    ) -> None:
        """Add one step of each of some trajectories: step ``steps[i]`` of trajectory ``rows[i]``, made at ``times[i]``."""
        self._rows += rows
        self._steps += steps
        self._frames += chosen.frames
        self._skips += [frame - time for frame, time in zip(chosen.frames, times, strict=True)]
        self._explored += chosen.explored
        self._losses.append(losses)
        if self._keep:
            self._predictions.append(predictions.detach())

    def result(self, average: Average) -> Matched:
        """Add the steps up."""
        losses = torch.cat(self._losses)
        rows = torch.tensor(self._rows)
        steps = torch.bincount(rows, minlength=self._count)
        sums = losses.new_zeros(self._count).index_add(0, rows.to(losses.device), losses)
        means = sums / steps.to(losses.device)
        return Matched(
            loss=means.mean() if average == "trajectories" else losses.mean(),
            trajectory_losses=means,
            step_losses=self._table(losses.detach().cpu(), 0),
            steps=steps,
            skips=self._table(torch.tensor(self._skips), 0),
            matched=self._table(torch.tensor(self._frames), -1),
            explored=self._table(torch.tensor(self._explored), 0),
            evaluations=self.evaluations,
            predictions=Trajectories(self._table(torch.cat(self._predictions), 0), steps) if self._keep else None,
        )

    def _table(self, values: Tensor, padding: int) -> Tensor:
        """Return values, one for each step, as (batch, steps, ...)."""
        table = values.new_full((self._count, max(self._steps) + 1, *values.shape[1:]), padding)
        table[torch.tensor(self._rows), torch.tensor(self._steps)] = values
        return table
