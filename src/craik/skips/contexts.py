"""What a model is given beside a frame: nothing, something static for each trajectory, or the coming actions."""

from dataclasses import dataclass

import torch
from jaxtyping import Shaped
from torch import Tensor

from craik.arguments import check_whole
from craik.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Actions:
    """Actions, or whatever else is known for every frame and not predicted.

    A model at frame t is given the actions of frames t .. t + window - 1, because it may skip as many frames. It is never told
    where in the trajectory it is. Where fewer are left, zeros stand behind them.

    Args:
        values: (batch, time, *action) the action taken at each frame.
        window: how many actions a model sees: None gives it the one at its frame, shape (n, *action); a number w gives it
            (n, w, *action). The horizon is a natural choice.

    Raises:
        TypeError: a window that is no whole number.
        ValueError: a window below 1.
    """

    values: Shaped[Tensor, "batch time *action"]
    window: int | None = None

    def __post_init__(self) -> None:
        if self.window is None:
            return
        check_whole("window", self.window, 1, way_out="None gives the action at the frame alone.")

    def at(self, rows: Shaped[Tensor, " n"], times: Shaped[Tensor, " n"]) -> Shaped[Tensor, "n *action"]:
        """Return what a model sees at frame ``times[i]`` of trajectory ``rows[i]``."""
        if self.window is None:
            return self.values[rows, times]
        ahead = times[:, None] + torch.arange(self.window, device=times.device)
        known = ahead < self.values.shape[1]
        seen = self.values[rows[:, None], ahead.clamp(max=self.values.shape[1] - 1)]
        return seen * known.reshape(*known.shape, *[1] * (seen.dim() - 2)).to(seen.dtype)


Context = Tensor | Actions
"""Static, (batch, *context), or `Actions`."""


def check_context(context: Context | None, trajectories: Trajectories) -> None:
    """Refuse a context that is not one for each trajectory, or actions that end before the frames do."""
    if context is None:
        return
    values = context.values if isinstance(context, Actions) else context
    if values.dim() == 0 or len(values) != len(trajectories):
        raise ValueError(
            f"`context` should hold one entry for each of the {len(trajectories)} trajectories. Found shape "
            f"{tuple(values.shape)}. Choose its rows as you chose the trajectories'."
        )
    least = int(trajectories.lengths.max()) - 1  # nothing is predicted from a last frame
    if isinstance(context, Actions) and (values.dim() < 2 or values.shape[1] < least):
        raise ValueError(f"`Actions` should hold an action for each of the first {least} frames. Found {tuple(values.shape)}.")
