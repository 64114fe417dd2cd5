"""Parts of a padded batch, and other paddings of it."""

import contextlib
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


def rows_of(rows: Any, count: int) -> slice | Tensor:  # noqa: ANN401  # whatever indexes a batch
    """Return a slice that goes forwards as it is, anything else as an index on the CPU."""
    if isinstance(rows, slice):
        if rows.step is None or rows.step > 0:
            return rows
        rows = list(range(*rows.indices(count)))
    index = positions("rows", rows, bools=True)
    if index.dim() != 1:
        raise ValueError(
            f"Trajectories should be chosen by one dimension of positions or bools. Found shape {tuple(index.shape)}. Pass an "
            "int for a single one, or index.flatten()."
        )
    if index.dtype == torch.bool and len(index) != count:
        raise IndexError(f"There should be one bool for each of {count} trajectories. Found {len(index)}. Compare all of them.")
    if index.dtype != torch.bool and index.numel():
        for end in (int(index.min()), int(index.max())):
            check_position(end, count)
    return index if index.numel() else slice(0)  # an empty list has no type that could index


def check_position(row: int, count: int) -> None:
    """Reject a trajectory that there is not."""
    if not -count <= row < count:
        raise IndexError(f"`rows` should be numbers from 0 to {count - 1}. Found {row}. Negative ones count from the end.")


def positions(name: str, given: Any, *, bools: bool = False) -> Tensor:  # noqa: ANN401  # whatever indexes a batch
    """Return positions as a tensor on the CPU."""
    index = None
    if isinstance(given, Sequence | Tensor | np.ndarray) and not isinstance(given, str | bytes):
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            index = torch.as_tensor(given)
    whole = index is not None and (not index.numel() or not (index.is_floating_point() or index.is_complex()))
    if index is None or not whole or (index.dtype == torch.bool and not bools):
        what = type(given).__name__ if index is None else str(index.dtype)
        also = " or bools" if bools else ""
        raise TypeError(f"`{name}` should be a list of whole numbers{also}. Found {what}. Positions are counted from 0.")
    return index.cpu()


def own(rows: Any, times: Any, lengths: np.ndarray) -> tuple[Any, Any]:  # noqa: ANN401
    """Return positions of trajectories' own frames as `pick` takes them; it is called at each step of a matching."""
    if isinstance(rows, list | range | np.ndarray) and isinstance(times, list | np.ndarray):
        b, t = np.asarray(rows), np.asarray(times)  # of lists several times as fast as torch
    else:
        b, t = (positions(name, given).numpy() for name, given in (("rows", rows), ("times", times)))
    if b.dtype.kind in "iu" and t.dtype.kind in "iu" and b.ndim == 1 and b.shape == t.shape:
        with contextlib.suppress(IndexError):
            if not ((t < 0) | (t >= lengths[b])).any():
                return (rows, times) if len(b) <= _FEW else (torch.from_numpy(b), torch.from_numpy(t))
    _refuse(rows, times, lengths)
    return rows, times


def _refuse(rows: Any, times: Any, lengths: np.ndarray) -> None:  # noqa: ANN401
    """Say what is wrong with positions, if anything is: none of either are right."""
    b, t = (positions(name, given).long() for name, given in (("rows", rows), ("times", times)))
    if b.dim() != 1 or b.shape != t.shape:
        raise IndexError(
            f"There should be a time for each trajectory, in one dimension. Found shapes {tuple(b.shape)} and {tuple(t.shape)}."
        )
    count = len(lengths)
    for i in ((b < -count) | (b >= count)).nonzero().flatten().tolist()[:1]:
        raise IndexError(f"`rows` should lie below {count}, the number of trajectories. Found {int(b[i])}.")
    for at, time in zip(b.tolist(), t.tolist(), strict=True):
        if not 0 <= time < lengths[at]:
            raise IndexError(
                f"`times` should be of a trajectory's own frames, 0 to {lengths[at] - 1} in trajectory {at}. Found {time}: "
                "what lies behind is padding."
            )


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
