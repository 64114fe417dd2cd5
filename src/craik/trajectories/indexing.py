"""Parts of a padded batch, and other paddings of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

Rows = slice | Sequence[int] | Tensor | np.ndarray
"""Which trajectories: a slice, positions, or one bool for each."""

_FEW = 8
"""So many frames are found one by one faster than by an index."""


def rows_of(rows: Any) -> slice | Tensor:  # noqa: ANN401  # whatever indexes a batch
    """Return a slice as it is, anything else as an index on the CPU."""
    if isinstance(rows, slice):
        return rows
    index = torch.as_tensor(rows).cpu()
    if index.dim() != 1:
        raise ValueError(
            f"Trajectories should be chosen by one dimension of positions or bools. Found shape {tuple(index.shape)}. Pass an "
            "int for a single one, or index.flatten()."
        )
    return index if index.numel() else slice(0)  # an empty list has no type that could index


def pick(
    frames: Shaped[Tensor, "batch time *frame"], rows: Sequence[int] | Tensor, times: Sequence[int] | Tensor
) -> Shaped[Tensor, "n *frame"]:
    """Return frame ``times[i]`` of trajectory ``rows[i]`` for each i."""
    if len(rows) <= _FEW:
        return torch.stack([frames[b, t] for b, t in zip(_integers(rows), _integers(times), strict=True)])
    b, t = (_index(index).to(frames.device) for index in (rows, times))
    return frames[b, t]


def repad(frames: Shaped[Tensor, "batch time *frame"], time: int, longest: int) -> Shaped[Tensor, "batch padded *frame"]:
    """Cut the padding or fill it with zeros (see `Trajectories.padded`)."""
    if time < longest:
        raise ValueError(f"`time` should be at least the longest trajectory's length, {longest}. Found {time}.")
    missing = time - frames.shape[1]
    if missing <= 0:
        return frames[:, :time]
    return torch.cat([frames, frames.new_zeros((len(frames), missing, *frames.shape[2:]))], dim=1)


def _index(index: Sequence[int] | Tensor) -> Tensor:
    # By way of numpy, which reads a list of integers several times as fast as torch does.
    return index if isinstance(index, Tensor) else torch.from_numpy(np.array(index, dtype=np.int64))


def _integers(index: Sequence[int] | Tensor) -> Sequence[int]:
    return index.tolist() if isinstance(index, Tensor) else index
