"""What a model is given beside a frame: nothing, something static for each trajectory, or the coming actions."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from mechlearn.arguments import Choice, check_data, check_shape, check_whole
from mechlearn.skips.simulators.options import Options
from mechlearn.trajectories import Trajectories
from mechlearn.trajectories.conversions import Array


@dataclass(frozen=True, eq=False)
class Actions(Choice):
    """Actions, or whatever else is known for every frame and not predicted.

    A model at frame t is given the actions of frames t .. t + window - 1, because it may skip as many frames. It is never told
    where in the trajectory it is. Where fewer are left, zeros stand behind them: what `values` holds behind a trajectory's own
    is padding and never shown, so that company in a batch does not matter.

    Args:
        values: (batch, time, *action) the action taken at each frame.
        window: how many actions a model sees: None gives it the one at its frame, shape (n, *action); a number w gives it
            (n, w, *action). The horizon is a natural choice.
        lengths: (batch,) how many of each trajectory's actions are its own. None: as many as the trajectory has frames, for
            what is known at its last frame, too. Recorders often keep one action fewer than frames: then say so, or use
            `from_list`.

    Raises:
        TypeError: values or lengths that are no tensor, lengths that are no integers, a window that is no whole number.
        ValueError: a window below 1, values without a batch and a time, lengths that do not fit, or NaN or infinity in an own
            action.
    """

    values: Shaped[Tensor, "batch time *action"]
    window: int | None = None
    lengths: Int[Tensor, " batch"] | None = None

    def __post_init__(self) -> None:
        if self.window is not None:
            check_whole("window", self.window, 1, way_out="None gives the action at the frame alone.")
        _check_values(self.values)
        if self.lengths is not None:
            check_shape("lengths", self.lengths, self.values.shape[0], way_out="One for each trajectory.")
            _check_lengths(self.lengths, self.values.shape[1])
            object.__setattr__(self, "lengths", self.lengths.detach().to(self.values.device, torch.int64))
            _check_finite(self.values, self.lengths)

    @classmethod
    def from_list(cls, actions: Iterable[Array], window: int | None = None) -> "Actions":
        """Pad the actions of trajectories, (length, *action) each, to a batch that knows how many of them are each one's own.

        Args:
            actions: for each trajectory a tensor, array or nested list.
            window: how many a model sees.

        Raises:
            ValueError: no trajectory, one without actions, or actions of unequal shape or type.
        """
        padded = Trajectories.from_list(actions)
        return cls(padded.frames, window, padded.lengths)

    def __getitem__(self, rows: slice | Shaped[Tensor, " n"] | list[int]) -> "Actions":
        """Return those of some trajectories, chosen as these are."""
        return Actions(self.values[rows], self.window, None if self.lengths is None else self.lengths[rows])

    def at(self, rows: Shaped[Tensor, " n"], times: Shaped[Tensor, " n"]) -> Shaped[Tensor, "n *action"]:
        """Return what a model sees at frame ``times[i]`` of trajectory ``rows[i]``."""
        if self.window is None:
            return self.values[rows, times]
        ahead = times[:, None] + torch.arange(self.window, device=times.device)
        ends = self.values.shape[1] if self.lengths is None else self.lengths[rows][:, None]
        seen = self.values[rows[:, None], ahead.clamp(max=self.values.shape[1] - 1)]
        behind = (ahead >= ends).reshape(*ahead.shape, *[1] * (seen.dim() - 2))
        return seen.masked_fill(behind, 0)  # and no product: what stands there may be NaN

    def of(self, trajectories: Trajectories) -> "Actions":
        """Return the same, each trajectory's own known: where they were not, as many as it has frames."""
        if self.lengths is not None:
            return self
        own = trajectories.lengths.clamp(max=self.values.shape[1])
        return Actions(self.values, self.window, own)


Context = Tensor | Actions | Options
"""Static, (batch, *context), `Actions`, or `Options`."""


def fitting(context: Context | None, trajectories: Trajectories) -> Context | None:
    """Return a context that has been found to be one for each trajectory; actions with lengths of their own.

    Raises:
        ValueError: another number of them, actions that end before the frames do, that may be padding, or are not finite.
    """
    if context is None:
        return None
    if isinstance(context, Options):
        context.check(trajectories)
        return context
    values = context.values if isinstance(context, Actions) else context
    if values.dim() == 0 or len(values) != len(trajectories):
        raise ValueError(
            f"`context` should hold one entry for each of the {len(trajectories)} trajectories. Found shape "
            f"{tuple(values.shape)}. Choose its rows as you chose the trajectories'."
        )
    if not isinstance(context, Actions):
        _check_static(context)
        return context
    _check_time(context, trajectories)
    return context.of(trajectories)


def _check_static(context: Tensor) -> None:
    if context.is_floating_point() and not context.detach().isfinite().all():
        b = int(context.detach().isfinite().reshape(len(context), -1).all(1).logical_not().nonzero()[0])
        raise ValueError(f"`context` should be finite. Found NaN or infinity in entry {b}. Repair the data.")


def _check_time(actions: Actions, trajectories: Trajectories) -> None:
    least = trajectories.lengths - 1  # nothing is predicted from a last frame
    time = actions.values.shape[1]
    if time < int(least.max()):
        raise ValueError(
            f"`Actions` should hold an action for each of the first {int(least.max())} frames. Found "
            f"{tuple(actions.values.shape)}."
        )
    if actions.lengths is not None:
        short = (actions.lengths.cpu() < least).nonzero().flatten().tolist()
        if short:
            b = short[0]
            raise ValueError(
                f"`Actions` should hold an action for each frame but the last, {int(least[b])} of trajectory {b}. Found "
                f"{int(actions.lengths[b])} by its `lengths`. Choose their rows as you chose the trajectories'."
            )
    elif actions.window is not None and time == int(least.max()) and int(least.min()) < time:
        raise ValueError(
            f"`Actions` with a window should say which are a trajectory's own where lengths differ: there is one fewer than "
            f"the longest trajectory has frames. Found {tuple(actions.values.shape)} and no `lengths`. Pass lengths="
            "trajectories.lengths - 1, or use Actions.from_list."
        )


def _check_values(values: object) -> None:
    if not isinstance(values, Tensor):
        raise TypeError(
            f"`values` should be a tensor (batch, time, *action). Found {type(values).__name__}. Actions.from_list takes lists "
            "and arrays, one for each trajectory."
        )
    check_data("values", values)
    if values.dim() < 2 or 0 in values.shape:
        raise ValueError(
            f"`values` should have the shape (batch, time, *action), nothing of it empty. Found {tuple(values.shape)}. What "
            "stays the same for a whole trajectory is a context: pass the tensor itself."
        )


def _check_lengths(lengths: Tensor, time: int) -> None:
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise TypeError(f"`lengths` should be integers. Found {lengths.dtype}.")
    if int(lengths.min()) < 1 or int(lengths.max()) > time:
        raise ValueError(f"`lengths` should be 1 to {time}, the padded number of actions. Found {lengths.tolist()}.")


def _check_finite(values: Tensor, lengths: Tensor) -> None:
    if not values.is_floating_point() or values.detach().sum().isfinite():
        return
    own = torch.arange(values.shape[1], device=values.device) < lengths[:, None]
    bad = (~values.detach().isfinite().flatten(2).all(2) if values.dim() > 2 else ~values.detach().isfinite()) & own
    if bad.any():
        b, t = bad.nonzero()[0].tolist()
        raise ValueError(
            f"Every action should be finite. Found NaN or infinity in trajectory {b}, frame {t} (both counted from 0). Repair "
            "it, or leave the trajectory out."
        )
