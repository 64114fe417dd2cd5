"""What `Trajectories` refuses, each with one sentence: the rule, what was found, the way out."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mechlearn.arguments import check_data


class Range(NamedTuple):
    """The least and the largest of some numbers, or less and more."""

    low: float
    high: float


def check_tensors(frames: object, lengths: object) -> None:
    """Reject anything but a tensor that can be read, complex frames, and shapes or types that cannot be."""
    if not isinstance(frames, Tensor):
        raise TypeError(
            f"`frames` should be a tensor. Found {type(frames).__name__}. Trajectories.from_numpy and from_list take others."
        )
    if not isinstance(lengths, Tensor):
        raise TypeError(
            f"`lengths` should be a tensor of integers. Found {type(lengths).__name__}. Pass torch.tensor(lengths)."
        )
    check_data("frames", frames)
    check_data("lengths", lengths)
    _check_real(frames)
    _check_shape(frames, lengths)


def check_array(frames: object) -> None:
    """Reject anything but an array of real numbers."""
    if not isinstance(frames, np.ndarray) or frames.dtype.kind not in "biuf":
        found = (
            f"an array of {frames.dtype}" if isinstance(frames, np.ndarray) else f"an object of type {type(frames).__name__}"
        )
        raise TypeError(f"`frames` should be an array of real numbers. Found {found}. Trajectories.from_list takes others.")


def _check_real(frames: Tensor) -> None:
    """Reject complex frames, as losses compare real numbers, and types that torch stores and does not compute with."""
    if frames.is_complex():
        raise TypeError(f"`frames` should be real numbers. Found {frames.dtype}. Split them with torch.view_as_real(frames).")
    if frames.dtype in _STORED:
        raise TypeError(
            f"`frames` should be of a type that torch computes with. Found {frames.dtype}. Convert them before, to "
            f"{_STORED[frames.dtype]}."
        )


_BYTES = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz)

_STORED = {
    torch.uint16: torch.int32,
    torch.uint32: torch.int64,
    torch.uint64: torch.float64,
    **dict.fromkeys(_BYTES, torch.float16),
}
"""Types that torch has no arithmetic for, and those that hold their numbers, of the last one's most."""


def _check_shape(frames: Tensor, lengths: Tensor) -> None:
    """Reject frames without a batch and a time, and lengths that are not one integer for each trajectory."""
    if frames.dim() < 2 or len(frames) == 0:
        raise ValueError(
            "`frames` should have the shape (batch, time, *frame) with at least one trajectory. "
            f"Found shape {tuple(frames.shape)}. Add a batch dimension to a single trajectory with frames[None]."
        )
    if 0 in frames.shape[2:]:
        raise ValueError(
            f"Frames should have elements. Found shape {tuple(frames.shape)}, each frame empty. Leave the entry out."
        )
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise TypeError(f"`lengths` should be integers. Found {lengths.dtype}.")
    if lengths.shape != frames.shape[:1]:
        raise ValueError(
            f"`lengths` should hold one length for each of the {len(frames)} trajectories. Found shape {tuple(lengths.shape)}."
        )


def check_scale(scale: float) -> None:
    """Reject what cannot be a unit."""
    if isinstance(scale, bool) or not isinstance(scale, Real):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        raise TypeError(f"`scale` should be a number above 0. Found {scale!r} of type {type(scale).__name__}.")
    if not 0 < scale < math.inf:
        raise ValueError(f"`scale` should be a finite number above 0, such as 1/255 for images in bytes. Found {scale!r}.")


def check_lengths(frames: Tensor, lengths: Tensor) -> None:
    """Reject empty trajectories and lengths beyond the padding."""
    time = frames.shape[1]
    wrong = ((lengths < 1) | (lengths > time)).nonzero().flatten().tolist()
    if wrong:
        length = int(lengths[wrong[0]])
        rule = "at least 1" if length < 1 else f"at most {time}, the padded number of frames"
        raise ValueError(
            f"Every length should be {rule}. Found {length} for trajectory {wrong[0]}{_more(wrong)}. "
            "Leave out empty trajectories, and count padding in none."
        )


def check_finite(frames: Tensor, lengths: Tensor) -> Range:
    """Reject NaN and infinite frames, say which; return the least and the largest number, or less and more.

    One pass over the memory decides; only a suspicion, which padding may arouse too, pays for more.
    """
    if not frames.is_floating_point():
        return _range(frames)
    found = _range(frames)
    if all(map(math.isfinite, found)):
        return found
    ranges: list[Range] = []
    for b, length in enumerate(lengths.tolist()):
        own = frames[b, :length]
        ranges.append(_range(own))
        if not all(map(math.isfinite, ranges[-1])):
            bad = (~own.detach().isfinite()).reshape(length, -1).any(1).nonzero().flatten().tolist()
            raise ValueError(
                f"Every frame should be finite. Found NaN or infinity in trajectory {b}, frame {bad[0]}{_more(bad)} "
                "(both counted from 0). Repair the frame or leave the trajectory out."
            )
    return Range(min(each.low for each in ranges), max(each.high for each in ranges))


def check_converted(before: Tensor, frames: Tensor, lengths: Tensor, within: Range, first: int = 0) -> None:
    """Reject a conversion that made numbers complex or infinite, or wrapped them; all lay within a range before, or in less.

    Trajectories are counted from ``first``.
    """
    _check_real(frames)
    if frames.dtype == torch.bool:
        return
    limits = torch.finfo(frames.dtype) if frames.is_floating_point() else torch.iinfo(frames.dtype)
    if limits.min <= within.low and within.high <= limits.max:
        return
    if not frames.is_floating_point():
        _check_whole(before, lengths, limits, frames.dtype, first)
        return
    for b, length in enumerate(lengths.tolist()):
        if not frames[b, :length].isfinite().all():
            raise ValueError(
                f"Every number should fit in {frames.dtype}, at most {torch.finfo(frames.dtype).max:g}. Found a larger one in "
                f"trajectory {first + b}. Divide the frames before, or keep a wider type."
            )


def check_cast(before: Tensor, frames: Tensor, b: int) -> None:
    """Reject a conversion of trajectory b as `check_converted` does; what was not finite before stays that in floats."""
    wide = before.to(_STORED[before.dtype]) if before.dtype in _STORED else before
    _check_real(wide)
    within = _range(wide)
    if frames.is_floating_point() and not all(map(math.isfinite, within)):
        return
    check_converted(wide[None], frames[None], torch.tensor([len(frames)]), within, first=b)


def _check_whole(before: Tensor, lengths: Tensor, limits: Any, dtype: torch.dtype, first: int) -> None:  # noqa: ANN401  # torch.iinfo
    """Reject numbers that a whole type would wrap to others."""
    for b, length in enumerate(lengths.tolist()):
        low, high = (float(end) for end in before[b, :length].detach().aminmax())
        if not (low >= limits.min and high <= limits.max):  # NaN, too
            found = high if low >= limits.min else low
            raise ValueError(
                f"Every number should fit in {dtype}, {limits.min} to {limits.max}. Found {found:g} in trajectory {first + b}, "
                "which would become another. Divide the frames before, or keep a wider type."
            )


def check_alike(parts: Sequence[Any]) -> None:
    """Reject parts of a batch that differ in more than their number and their padding."""
    if len(parts) == 0:
        raise ValueError("`parts` should hold at least one batch. Found none. Skip the call where nothing was collected.")
    kinds = {(part.frame_shape, part.dtype, part.scale) for part in parts}
    if len(kinds) > 1:
        raise ValueError(
            f"`parts` should agree in frame shape, type and scale. Found {sorted(map(str, kinds))}. Convert them before."
        )


def _range(frames: Tensor) -> Range:
    if frames.dtype in (torch.uint8, torch.bool):
        return Range(0.0, 255.0 if frames.dtype == torch.uint8 else 1.0)
    low, high = frames.detach().aminmax()
    return Range(float(low), float(high))  # NaN spreads to both ends


def _more(found: list[int]) -> str:
    return f" and {len(found) - 1} more" if len(found) > 1 else ""
