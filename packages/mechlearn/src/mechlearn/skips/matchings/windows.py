"""The frames of a trajectory that a prediction may be matched with, as rows of floats, with as little copying as can be."""

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

_BUFFERED = 3
"""A buffer's length in windows; a longer one is filled less often, in a shorter one less moves."""

_LARGE = 4096
"""Elements from which on it pays to look for those of a frame that move."""

_FEW = 4
"""One of so many elements may move for a copy of the moving ones to pay."""


class Window:
    """A window that slides along one trajectory; its rows are flattened frames, not yet scaled.

    Floats of the right type are looked at where they are. Other frames, such as bytes, are converted before the window
    reaches them, many at a time, into a buffer of a few windows' length. Where frames are large and most of their elements are
    the same in the whole trajectory, as a picture's background is, the rows hold the others only, and of these only what moves
    in the buffer: what stands still adds the same to every frame's score.

    Args:
        frames: (time, elements) the trajectory's own frames as they are stored.
        dtype: the floating type that is asked for.
        horizon: the longest window.

    Attributes:
        columns: which elements of a frame the rows hold, of those that were asked for last; None for all.
    """

    def __init__(self, frames: Shaped[Tensor, "time elements"], dtype: torch.dtype, horizon: int) -> None:
        self._ever = _moving(frames)
        if self._ever is not None:
            frames = _select(frames, self._ever).to(dtype)
        self.columns = self._ever
        self._frames, self._dtype = frames, dtype
        self._direct = frames.dtype == dtype and self._ever is None
        self._capacity = _BUFFERED * horizon
        self._start, self._end = 0, len(frames) if self._direct else 0
        self._buffer: Tensor = frames
        self._norms = torch.zeros(len(frames), dtype=dtype, device=frames.device)
        self._normed = 0

    def __call__(self, first: int, end: int) -> Float[Tensor, "window elements"]:
        """Return frames first .. end - 1; `first` never goes back."""
        if end > self._end:
            self._fill(first)
        return self._buffer[first - self._start : end - self._start]

    def part(self, elements: Float[Tensor, " elements"]) -> Float[Tensor, " row"]:
        """Return those of a frame's elements that the rows hold."""
        return elements if self.columns is None else elements.index_select(0, self.columns)

    def squared_norms(self, first: int, end: int) -> Float[Tensor, " window"]:
        """Return the sum of squares of each of the frames first .. end - 1, each computed once for a buffer."""
        rows = self(first, end)
        if end > self._normed:
            new = max(self._normed, first)
            self._norms[new:end] = torch.linalg.vecdot(rows[new - first :], rows[new - first :])
            self._normed = end
        return self._norms[first:end]

    def _fill(self, first: int) -> None:
        """Fill the buffer from a frame on."""
        self._start, self._end = first, min(len(self._frames), first + self._capacity)
        self._buffer = self._frames[first : self._end].to(self._dtype)
        if self._ever is not None:
            columns = (self._buffer.amax(0) != self._buffer.amin(0)).nonzero()[:, 0]
            self._buffer, self.columns = self._buffer.index_select(1, columns), self._ever[columns]
            self._normed = first  # other elements, other norms


def _moving(frames: Shaped[Tensor, "time elements"]) -> Int[Tensor, " moving"] | None:
    """Return the elements that are not the same in all frames; None where it does not pay to know."""
    if frames.shape[1] < _LARGE:
        return None
    moving = _differences(frames) if frames.is_floating_point() else frames.amax(0) != frames.amin(0)
    columns = moving.nonzero()[:, 0]
    return columns if len(columns) * _FEW <= frames.shape[1] else None


def _select(frames: Shaped[Tensor, "time elements"], columns: Int[Tensor, " moving"]) -> Shaped[Tensor, "time moving"]:
    """Return some elements of every frame."""
    if frames.is_floating_point() or frames.device.type != "cpu":
        return frames.index_select(1, columns)
    return torch.from_numpy(np.take(frames.numpy(), columns.numpy(), axis=1))  # numpy is quicker with bytes


def _differences(frames: Float[Tensor, "time elements"]) -> Float[Tensor, " elements"]:
    """Return the sum of distances from the first frame, frame by frame: a frame stays in the processor's cache."""
    total, difference = torch.zeros_like(frames[0]), torch.empty_like(frames[0])
    for frame in frames[1:]:
        total += torch.sub(frame, frames[0], out=difference).abs_()
    return total
