"""The frames of a trajectory that a prediction may be matched with, as rows of floats, with as little copying as can be."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

_BUFFERED = 4
"""A buffer's length in windows; a longer one moves its content less often."""

_LARGE = 4096
"""Elements from which on it pays to look for those of a frame that move."""

_FEW = 4
"""One of so many elements may move for a copy of the moving ones to pay."""


class Window:
    """A window that slides along one trajectory; its rows are flattened frames, not yet scaled.

    Floats of the right type are looked at where they are. Other frames, such as bytes, are converted before the window
    reaches them, each once, into a buffer of a few windows' length. Where frames are large and most of their elements are the
    same in the whole trajectory, as a picture's background is, the rows hold the others only: what stands still adds the same
    to every frame's score.

    Args:
        frames: (time, elements) the trajectory's own frames as they are stored.
        dtype: the floating type that is asked for.
        horizon: the longest window.

    Attributes:
        columns: which elements of a frame the rows hold; None for all.
    """

    def __init__(self, frames: Shaped[Tensor, "time elements"], dtype: torch.dtype, horizon: int) -> None:
        self.columns = _moving(frames)
        if self.columns is not None:
            frames = frames.index_select(1, self.columns).to(dtype)
        self._frames = frames
        self._direct = frames.dtype == dtype
        capacity = 0 if self._direct else min(len(frames), _BUFFERED * horizon)
        self._buffer = torch.empty(capacity, frames.shape[1], dtype=dtype, device=frames.device)
        self._start = self._end = 0
        self._norms = torch.zeros(len(frames), dtype=dtype, device=frames.device)
        self._normed = 0

    def __call__(self, first: int, end: int) -> Float[Tensor, "window elements"]:
        """Return frames first .. end - 1; `first` never goes back."""
        if self._direct:
            return self._frames[first:end]
        if end > self._end:
            self._convert(first)
        return self._buffer[first - self._start : end - self._start]

    def part(self, elements: Float[Tensor, " elements"]) -> Float[Tensor, " row"]:
        """Return those of a frame's elements that the rows hold."""
        return elements if self.columns is None else elements.index_select(0, self.columns)

    def squared_norms(self, first: int, end: int) -> Float[Tensor, " window"]:
        """Return the sum of squares of each of the frames first .. end - 1, each computed once."""
        if end > self._normed:
            new = max(self._normed, first)
            rows = self(first, end)[new - first :]
            self._norms[new:end] = torch.linalg.vecdot(rows, rows)
            self._normed = end
        return self._norms[first:end]

    def _convert(self, first: int) -> None:
        """Fill the buffer from a frame on: what it holds of that is moved, the rest converted, many frames at a time."""
        kept = max(0, self._end - first)
        if kept:
            offset = first - self._start
            self._buffer[:kept] = self._buffer[offset : offset + kept].clone()
        self._start, self._end = first, min(len(self._frames), first + len(self._buffer))
        self._buffer[kept : self._end - first] = self._frames[first + kept : self._end]


def _moving(frames: Shaped[Tensor, "time elements"]) -> Int[Tensor, " moving"] | None:
    """Return the elements that are not the same in all frames; None where it does not pay to know."""
    if frames.shape[1] < _LARGE:
        return None
    moving = _differences(frames) if frames.is_floating_point() else frames.amax(0) != frames.amin(0)
    columns = moving.nonzero()[:, 0]
    return columns if len(columns) * _FEW <= frames.shape[1] else None


def _differences(frames: Float[Tensor, "time elements"]) -> Float[Tensor, " elements"]:
    """Return the sum of distances from the first frame, frame by frame: a frame stays in the processor's cache."""
    total, difference = torch.zeros_like(frames[0]), torch.empty_like(frames[0])
    for frame in frames[1:]:
        total += torch.sub(frame, frames[0], out=difference).abs_()
    return total
