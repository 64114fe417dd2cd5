"""Ways into and out of a padded batch: lists, Minari episodes, TensorDicts.

Minari and tensordict are not imported on the way in: their objects are taken by what they have.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mechlearn.trajectories import soundness

Array = Tensor | np.ndarray | Sequence[Any]
"""What frames and lengths may be given as."""

Padded = tuple[Tensor, Tensor]
"""Frames (batch, time, *frame) and lengths (batch,)."""


def pad(trajectories: Iterable[Any], dtype: torch.dtype | None = None) -> Padded:
    """Stack trajectories of different lengths with zeros behind the shorter ones."""
    if not isinstance(trajectories, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        found = "None" if trajectories is None else f"an object of type {type(trajectories).__name__}"
        raise TypeError(f"There should be a list of trajectories, arrays (length, *frame). Found {found}.")
    parts = [_as_tensor(frames, b, dtype) for b, frames in enumerate(trajectories)]
    _check_parts(parts)
    lengths = torch.tensor([len(part) for part in parts])
    frames = parts[0].new_zeros((len(parts), int(lengths.max()), *parts[0].shape[1:]))
    for b, part in enumerate(parts):
        frames[b, : len(part)] = part
    return frames, lengths


def _as_tensor(frames: Any, b: int, dtype: torch.dtype | None) -> Tensor:  # noqa: ANN401  # whatever a user's list holds
    if isinstance(frames, Mapping):
        raise TypeError(
            f"Every trajectory should be one array (length, *frame). Found {type(frames).__name__} with entries "
            f"{sorted(map(str, frames.keys()))} for trajectory {b}. Take one entry, or all by mechlearn.skips.States."
        )
    try:
        given = _read(frames, dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"Every trajectory should be an array of numbers (length, *frame). Found {type(frames).__name__} for trajectory "
            f"{b}, which is none: {error}. Stack its frames with np.stack or torch.stack, if they are of one shape."
        ) from error
    if dtype is None or dtype == given.dtype:
        return given
    made = given.to(dtype)
    if given.numel() and given.dim():
        soundness.check_cast(given, made, b)
    return made


def _read(frames: Any, dtype: torch.dtype | None) -> Tensor:  # noqa: ANN401
    """Return frames as a tensor in their own type; a list's numbers in the type asked for, or one that holds them."""
    if dtype is None or isinstance(frames, Tensor | np.ndarray):
        return torch.as_tensor(native(frames))
    if dtype.is_floating_point:
        return torch.as_tensor(frames, dtype=dtype)
    given = torch.as_tensor(frames)
    return torch.as_tensor(frames, dtype=torch.float64) if given.is_floating_point() else given


def native(frames: Any) -> Any:  # noqa: ANN401  # whatever a user's list holds
    """Return an array as torch reads it, in the machine's order of bytes and without negative strides; if need be a copy."""
    if not isinstance(frames, np.ndarray):
        return frames
    if not frames.dtype.isnative:
        frames = frames.astype(frames.dtype.newbyteorder("="))
    return frames.copy() if any(stride < 0 for stride in frames.strides) else frames


def _check_parts(parts: Sequence[Tensor]) -> None:
    if not parts:
        raise ValueError(
            "There should be at least one trajectory. Found none. Check what filled the list: a folder or filter may be empty."
        )
    first = parts[0]
    for b, part in enumerate(parts):
        if part.dim() == 0 or len(part) == 0:
            raise ValueError(
                f"Every trajectory should have the shape (length, *frame) with at least one frame. Found shape "
                f"{tuple(part.shape)} for trajectory {b}. Leave out empty trajectories."
            )
        if 0 in part.shape:
            raise ValueError(
                f"Frames should have elements. Found shape {tuple(part.shape)} for trajectory {b}, each frame empty. Leave it "
                "out."
            )
        if (part.shape[1:], part.dtype, part.device) != (first.shape[1:], first.dtype, first.device):
            raise ValueError(
                f"All trajectories should have frames of one shape and type. Found {_kind(first)} for trajectory 0 and "
                f"{_kind(part)} for trajectory {b}. Crop or convert them before."
            )


def _kind(part: Tensor) -> str:
    return f"{tuple(part.shape[1:])} {part.dtype} on {part.device}"


def observations(episodes: Iterable[Any], key: str | None, name: str = "observations") -> Iterator[Any]:
    """Yield the observations, or another attribute, of episodes (see `Trajectories.from_minari`)."""
    for number, episode in enumerate(episodes):
        if not hasattr(episode, name):
            raise TypeError(
                f"`episodes` should be episodes with an attribute `{name}`, such as a minari.MinariDataset. "
                f"Found {type(episode).__name__!r} at position {number}."
            )
        yield _entry(getattr(episode, name), key)


def _entry(found: Any, key: str | None) -> Any:  # noqa: ANN401  # whatever the episode holds
    if key is None:
        if isinstance(found, Mapping | tuple):
            entries = f"entries {sorted(map(str, found))}" if isinstance(found, Mapping) else f"a tuple of {len(found)}"
            raise ValueError(f"A trajectory is made of one array of observations. Found {entries}. Name one with key='...'.")
        return found
    for level in key.split("."):
        if isinstance(found, Mapping):
            if level not in found:
                raise KeyError(
                    f"`key` should name an entry of the observations, one of {sorted(map(str, found))}. Found {key!r}."
                )
            found = found[level]
        elif isinstance(found, tuple) and level.isdigit() and int(level) < len(found):
            found = found[int(level)]
        else:
            raise ValueError(
                f"`key` is for observations in a mapping. Found {type(found).__name__!r} where {level!r} was asked."
            )
    return found


def from_tensordict(data: Any, key: Any, ids: Any, mask: Any) -> Padded:  # noqa: ANN401  # tensordict's types
    """Take an entry of a TensorDict (see `Trajectories.from_tensordict`)."""
    batch = tuple(data.batch_size)
    frames: Tensor = data[key]
    if ids is not None:
        if mask is not None:
            raise ValueError("Frames should be told apart by `ids` or by `mask`. Found both; leave one out.")
        return _split(frames, data[ids], len(batch))
    if len(batch) != 2:
        raise ValueError(
            f"Without `ids` the TensorDict's batch size should be (batch, time). Found {batch}. "
            "Name the entry with each frame's trajectory by ids=..., or reshape the data."
        )
    own = _own_mask(data, batch) if mask is None else data[mask].reshape(batch)
    if own is None:
        return frames, torch.full((batch[0],), batch[1])
    lengths = own.sum(1).cpu()
    if not torch.equal(own.cpu(), torch.arange(batch[1]) < lengths[:, None]):
        raise ValueError(
            "A mask should be True for a trajectory's first frames and False behind them. Found a hole in the entry "
            f"{'mask' if mask is None else mask!r}. Name another by mask=..., or leave it out with data.exclude(...)."
        )
    return frames, lengths


def _own_mask(data: Any, batch: tuple[int, ...]) -> Tensor | None:  # noqa: ANN401  # tensordict's types
    """Return the entry "mask" where it is one bool for each frame, as `to_tensordict` leaves it."""
    found = data.get("mask", None)
    if not isinstance(found, Tensor) or found.dtype != torch.bool or found.numel() != math.prod(batch):
        return None
    return found.reshape(batch)


def _split(frames: Tensor, ids: Tensor, batch_dims: int) -> Padded:
    """Split frames that follow each other by the trajectory they belong to, in the order of first appearance."""
    flat = frames.reshape(-1, *frames.shape[batch_dims:])
    owner = ids.reshape(-1).cpu()
    if len(owner) != len(flat):
        raise ValueError(f"`ids` should name one trajectory for each frame. Found {len(owner)} for {len(flat)} frames.")
    _, first, inverse, sizes = np.unique(owner.numpy(), return_index=True, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(first))  # of each id, by where it appears first
    order = np.argsort(rank[inverse.reshape(-1)], kind="stable")
    return pad(flat[torch.from_numpy(order).to(flat.device)].split(sizes[np.argsort(first)].tolist()))


def to_tensordict(frames: Tensor, mask: Tensor, key: Any) -> Any:  # noqa: ANN401  # an optional package's class
    """Return a TensorDict of a padded batch (see `Trajectories.to_tensordict`)."""
    try:
        from tensordict import TensorDict  # noqa: PLC0415  # optional
    except ImportError as error:
        raise ImportError("`to_tensordict` needs the package tensordict. Found none; pip install tensordict.") from error
    return TensorDict({key: frames, "mask": mask}, batch_size=mask.shape)
