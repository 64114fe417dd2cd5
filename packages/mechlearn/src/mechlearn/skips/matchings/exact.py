"""Which frame of a window a prediction fits best, by evaluating the loss on every frame of it.

Frames of few numbers, such as states, are gathered for all predictions of a step at once: one call of the loss, where products
with views would cost a call of several operators for each trajectory. Larger frames, which only a scale brings here, are
evaluated one window at a time.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from mechlearn.losses import Loss, evaluated, rankable
from mechlearn.trajectories import Trajectories

SMALL = 4096
"""Numbers in a window up to which windows are gathered for all predictions at once."""


class ExactRanker:
    """Finds best matches along the trajectories of one batch: of equally good frames the first, or the last.

    Args:
        loss: from predictions and frames to one value for each.
        targets: the frames to match with.
        width: of the longest window, in frames.
        scale: by what the loss of a window's first, second, ... frame is divided; None for nothing.
        last: whether the last of equals is taken.

    Attributes:
        at_once: whether windows are gathered for all predictions of a step.
    """

    def __init__(
        self, loss: Loss, targets: Trajectories, width: int, scale: Sequence[float] | None = None, last: bool = False
    ) -> None:
        self._loss, self._targets, self._width, self._last = loss, targets, width, last
        self._dtype = torch.promote_types(targets.value_dtype, torch.float32)
        self._scale = None if scale is None else np.array(scale)
        self.at_once = fits(targets, width)
        self._slide = _sliding(targets, width, self._dtype) if self.at_once else None
        self._repeats = _repeats(targets, self.at_once)
        self._shape, self._stride = targets.frame_shape, targets.time + width
        self._ahead = np.arange(width)

    def best(
        self, predictions: Float[Tensor, "n *z"], rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> list[int]:
        """Return the frame that each prediction fits best; arguments as of `Ranker.best`."""
        predictions = predictions.detach()  # cheaper than no_grad where a call takes a few microseconds
        if predictions.dtype != self._dtype:
            predictions = predictions.to(self._dtype)
        if torch.is_autocast_enabled(device := predictions.device.type):
            with torch.autocast(device, enabled=False):
                losses = self._losses(predictions, rows, first, end)
        else:
            losses = self._losses(predictions, rows, first, end)
        starts = np.array(first)
        sizes = np.array(end) - starts
        if sizes.min() < self._width:
            losses[self._ahead >= sizes[:, None]] = np.inf
        if self._repeats is not None:
            self._level(losses, self._repeats, np.array(rows), starts)
        if self._scale is not None:
            losses = losses / self._scale
        best = self._width - 1 - losses[:, ::-1].argmin(1) if self._last else losses.argmin(1)
        self._check(losses[np.arange(len(losses)), best], rows, first)
        return (starts + best).tolist()

    def _losses(self, predictions: Tensor, rows: Sequence[int], first: Sequence[int], end: Sequence[int]) -> np.ndarray:
        if self._slide is None:
            return self._one_by_one(predictions, rows, first, end)
        count = len(rows)
        positions = torch.from_numpy(np.array(rows) * self._stride + np.array(first))
        if predictions.device.type == "cpu":
            spread = torch.from_numpy(np.repeat(predictions.numpy(), self._width, axis=0))  # a third of what torch takes
        else:
            positions = positions.to(predictions.device)
            spread = predictions.repeat_interleave(self._width, dim=0)
        windows = self._slide.index_select(0, positions).view(count * self._width, *self._shape)
        return evaluated(self._loss, spread, windows).detach().view(count, self._width).cpu().numpy()

    def _one_by_one(self, predictions: Tensor, rows: Sequence[int], first: Sequence[int], end: Sequence[int]) -> np.ndarray:
        found = np.full((len(rows), self._width), np.inf, dtype=np.float64 if self._dtype == torch.float64 else np.float32)
        for i, (z, b, start, stop) in enumerate(zip(predictions, rows, first, end, strict=True)):
            frames = range(start, stop)
            targets = self._targets.at([b] * len(frames), list(frames), self._dtype)
            found[i, : len(frames)] = evaluated(self._loss, z.expand(len(frames), *z.shape), targets).detach().cpu().numpy()
        return found

    def _level(self, losses: np.ndarray, repeats: np.ndarray, rows: np.ndarray, starts: np.ndarray) -> None:
        """Give a frame that equals the one before it the same loss: rounding may depend on where in a batch it stands."""
        for k in range(1, self._width):
            again = repeats[rows, np.minimum(starts + k, repeats.shape[1] - 1)] & np.isfinite(losses[:, k])
            losses[again, k] = losses[again, k - 1]

    def _check(self, least: np.ndarray, rows: Sequence[int], first: Sequence[int]) -> None:
        if not np.isfinite(least).all():
            i = int((~np.isfinite(least)).argmax())
            where = f"in trajectory {rows[i]} of the batch, where frames {first[i]} and later are matched"
            ours = rankable(self._loss) is not None
            rule, found = ("prediction", "one that is not, or overflows,") if ours else ("loss", str(least[i]))
            raise FloatingPointError(
                f"Every {rule} should be finite. Found {found} {where}. Lower the learning rate or clip gradients."
            )


def fits(targets: Trajectories, width: int) -> bool:
    """Say whether windows are small enough to be gathered for all predictions of a step at once."""
    return width * math.prod(targets.frame_shape) <= SMALL


def _sliding(targets: Trajectories, width: int, dtype: torch.dtype) -> Shaped[Tensor, "starts numbers"]:
    """Return every window of the batch as a row: a view, in which the next begins a frame later.

    Behind a trajectory's end its last frame is repeated: padding may be what a loss cannot compare with, such as no class.
    """
    numbers = math.prod(targets.frame_shape)
    frames = targets.decoded(targets.frames.detach(), dtype)
    own = torch.arange(targets.time + width).clamp(max=targets.lengths[:, None] - 1).to(frames.device)
    rows = torch.arange(len(targets), device=frames.device)[:, None]
    padded = frames.reshape(len(targets), targets.time, numbers)[rows, own].contiguous()
    starts = len(targets) * (targets.time + width) - width + 1
    return padded.as_strided((starts, width * numbers), (numbers, 1))


def _repeats(targets: Trajectories, at_once: bool) -> np.ndarray | None:
    """Return which frames equal the one before them; None where none does."""
    frames = targets.frames.detach().flatten(2) if targets.frames.dim() > 2 else targets.frames.detach()[:, :, None]
    found = np.zeros((len(targets), targets.time), dtype=bool)
    if at_once:
        found[:, 1:] = (frames[:, 1:] == frames[:, :-1]).all(2).cpu().numpy()
    else:  # frame by frame: a comparison of all would copy the trajectories
        for t in range(1, targets.time):
            found[:, t] = (frames[:, t] == frames[:, t - 1]).all(1).cpu().numpy()
    return found if found.any() else None
