"""`Trajectories`: frames of shape (batch, time, *frame), padded at the end, and their lengths.

Index conventions: b runs over trajectories, t over time from 0; the thesis counts frames from 1, so its x_1 is frame 0 here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from mechlearn.arguments import check_each, check_kind, check_whole
from mechlearn.trajectories import conversions, indexing, soundness


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """A batch of trajectories.

    Frames keep the type they are stored in, so images stay in bytes. A model sees `values`: floats, times `scale`.

    Args:
        frames: (batch, time, *frame) of any type; what lies beyond a trajectory's length is padding and never looked at.
        lengths: (batch,) how many frames of each trajectory are its own, 1 to time. Kept on the CPU: they steer loops.
        scale: what one unit of a stored number means to a model: 1/255 for images in bytes, else 1.

    Raises:
        TypeError: frames or lengths that are no tensor, complex frames, lengths that are not integers.
        ValueError: no trajectory or one without frames, a length beyond the padding, a frame or scale that cannot be.

    Example:
        >>> import torch
        >>> batch = Trajectories(torch.zeros(2, 9, 3), lengths=torch.tensor([9, 5]))
        >>> len(batch), batch.time, batch[1].shape
        (2, 9, torch.Size([5, 3]))
    """

    frames: Shaped[Tensor, "batch time *frame"]
    lengths: Int[Tensor, " batch"]
    scale: float = 1.0
    peak: float = field(init=False)
    """The largest magnitude of a stored number, or more."""
    low: float = field(init=False)
    """The least stored number, or less."""

    def __post_init__(self) -> None:
        soundness.check_tensors(self.frames, self.lengths)
        soundness.check_scale(self.scale)
        object.__setattr__(self, "lengths", self.lengths.detach().to("cpu", torch.int64))
        soundness.check_lengths(self.frames, self.lengths)
        low, high = soundness.check_finite(self.frames, self.lengths)
        object.__setattr__(self, "peak", max(abs(low), abs(high)))
        object.__setattr__(self, "low", low)

    def __repr__(self) -> str:
        frame = "x".join(map(str, self.frame_shape)) or "one number"
        lengths = f"{int(self.lengths.min())} to {int(self.lengths.max())} frames"
        return f"Trajectories({len(self)} of {lengths}, each {frame}, {self.dtype} times {self.scale:g}, on {self.device})"

    def __len__(self) -> int:
        """Return the number of trajectories."""
        return len(self.lengths)

    @property
    def time(self) -> int:
        """The padded number of frames."""
        return self.frames.shape[1]

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """The shape of one frame."""
        return tuple(self.frames.shape[2:])

    @property
    def device(self) -> torch.device:
        """Where the frames are."""
        return self.frames.device

    @property
    def dtype(self) -> torch.dtype:
        """The type that frames are stored in."""
        return self.frames.dtype

    @property
    def mask(self) -> Bool[Tensor, "batch time"]:
        """True where a frame is a trajectory's own, on the frames' device."""
        return (torch.arange(self.time) < self.lengths[:, None]).to(self.device)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored frames, padding included."""
        return self.frames.numel() * self.frames.element_size()

    @overload
    def __getitem__(self, rows: int) -> Shaped[Tensor, "length *frame"]: ...
    @overload
    def __getitem__(self, rows: indexing.Rows) -> "Trajectories": ...
    def __getitem__(self, rows: int | np.integer[Any] | indexing.Rows) -> "Tensor | Trajectories":
        """Return one trajectory's own frames as they are stored, or a batch of the chosen trajectories.

        A batch is padded to its own longest trajectory. A slice forwards and a single trajectory share memory with this batch.

        Raises:
            TypeError: what are no positions.
            ValueError: none chosen, or more dimensions than one.
            IndexError: a trajectory that there is not, or not one bool for each.
        """
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            indexing.check_position(int(rows), len(self))
            return self.frames[rows, : int(self.lengths[rows])]
        index = indexing.rows_of(rows, len(self))
        lengths = self.lengths[index]
        if len(lengths) == 0:
            raise ValueError("A batch should have at least one trajectory. Found none chosen. Choose some.")
        own = self.frames[:, : int(lengths.max())]
        return self._like(own[index if isinstance(index, slice) else index.to(self.device)], lengths)

    def __iter__(self) -> Iterator[Shaped[Tensor, "_ *frame"]]:
        """Yield each trajectory's own frames as they are stored."""
        return (self[b] for b in range(len(self)))

    def values(self, dtype: torch.dtype | None = None) -> Float[Tensor, "batch time *frame"]:
        """Return all frames as a model sees them: floats, times `scale`.

        Args:
            dtype: a floating type; None is the stored one, or torch's default for frames that are stored otherwise.
        """
        return self.decoded(self.frames, dtype)

    def at(
        self,
        rows: Sequence[int] | Int[Tensor, " n"],
        times: Sequence[int] | Int[Tensor, " n"],
        dtype: torch.dtype | None = None,
    ) -> Float[Tensor, "n *frame"]:
        """Return frames as a model sees them: frame ``times[i]`` of trajectory ``rows[i]``.

        Raises:
            TypeError: positions that are no whole numbers.
            IndexError: more of the ones than of the others, no such trajectory, or padding behind a trajectory's own frames.
        """
        rows, times = indexing.own(rows, times, self.lengths.numpy())
        return self.decoded(indexing.pick(self.frames, rows, times), dtype)

    def first(self, dtype: torch.dtype | None = None) -> Float[Tensor, "batch *frame"]:
        """Return the first frame of each trajectory as a model sees it."""
        return self.decoded(self.frames[:, 0], dtype)

    def last(self, dtype: torch.dtype | None = None) -> Float[Tensor, "batch *frame"]:
        """Return the last own frame of each trajectory as a model sees it."""
        return self.at(range(len(self)), self.lengths - 1, dtype)

    def decoded(self, stored: Shaped[Tensor, "*n"], dtype: torch.dtype | None = None) -> Float[Tensor, "*n"]:
        """Return stored numbers as a model sees them."""
        values = stored.to(dtype or self.value_dtype)
        return values if self.scale == 1 else values * self.scale

    @property
    def value_dtype(self) -> torch.dtype:
        """The floating type of `values`, unless another is asked for."""
        return self.dtype if self.dtype.is_floating_point else torch.get_default_dtype()

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "Trajectories":
        """Return the same trajectories elsewhere or in another type; the stored numbers are converted, the scale stays.

        Raises:
            TypeError, ValueError: anything but a type, a complex one, or a number that does not fit in the type.
        """
        if dtype is not None:
            check_kind("dtype", dtype, torch.dtype, "a type of torch's", way_out="Write torch.float32, for example.")
        frames = self.frames.to(device=device, dtype=dtype)
        soundness.check_converted(self.frames, frames, self.lengths, soundness.Range(self.low, self.peak))
        return self._like(frames, self.lengths)

    def padded(self, time: int) -> "Trajectories":
        """Return the same trajectories with the padding cut or filled with zeros to `time` frames.

        Raises:
            TypeError, ValueError: anything but a whole number, or a trajectory is longer than that.
        """
        check_whole("time", time)
        return self._like(indexing.repad(self.frames, time, int(self.lengths.max())), self.lengths)

    @classmethod
    def concatenated(cls, parts: Sequence["Trajectories"]) -> "Trajectories":
        """Return the trajectories of several batches as one; frames of one shape, type and scale.

        Raises:
            TypeError, ValueError: what are no batches, no parts, or parts that differ in these.
        """
        check_each("parts", parts, Trajectories, "batches of trajectories")
        soundness.check_alike(parts)
        time = max(part.time for part in parts)
        frames = torch.cat([part.padded(time).frames for part in parts])
        return cls(frames, torch.cat([part.lengths for part in parts]), parts[0].scale)

    @classmethod
    def from_list(
        cls, trajectories: Iterable[conversions.Array], scale: float = 1.0, dtype: torch.dtype | None = None
    ) -> "Trajectories":
        """Pad trajectories of different lengths to a batch.

        Args:
            trajectories: for each the frames, (length, *frame), as tensor, array or nested list.
            scale: what one unit of a stored number means.
            dtype: what frames are stored in; None for the type they come in, which for numpy's numbers is often float64.

        Raises:
            TypeError: anything but an array of numbers, such as a dictionary or a TensorDict.
            ValueError: no trajectory, frames that are empty or of unequal shape or type, numbers that ``dtype`` does not hold.
        """
        return cls(*conversions.pad(trajectories, dtype), scale)

    @classmethod
    def from_numpy(cls, frames: np.ndarray, lengths: conversions.Array | None = None, scale: float = 1.0) -> "Trajectories":
        """Take a padded array (batch, time, *frame) and lengths; None where all trajectories fill it. Shares memory.

        Arrays that run backwards, or have another machine's order of bytes, are copied.

        Raises:
            TypeError, ValueError: anything but an array of numbers, and what `Trajectories` refuses.
        """
        soundness.check_array(frames)
        given = torch.from_numpy(conversions.native(frames))
        if lengths is None:
            lengths = [frames.shape[1]] * len(frames) if frames.ndim > 1 else [1] * len(np.atleast_1d(frames))
        return cls(given, torch.as_tensor(lengths), scale)

    @classmethod
    def from_minari(cls, episodes: Iterable[Any], key: str | None = None, scale: float = 1.0) -> "Trajectories":
        """Take the observations of episodes, such as a Minari data set or what it samples.

        Args:
            episodes: objects with an attribute ``observations``, (length, *frame), or a mapping of such.
            key: which of the mapping's entries, dots between levels.
            scale: what one unit of a stored number means.

        Raises:
            TypeError, ValueError, KeyError: no observations; a mapping and no key, or the other way round; no such entry.
        """
        return cls.from_list(conversions.observations(episodes, key), scale)

    @classmethod
    def from_tensordict(
        cls,
        data: Mapping[Any, Any],
        key: Any = "observation",  # noqa: ANN401  # tensordict's nested keys: str or tuples
        ids: Any = None,  # noqa: ANN401
        mask: Any = None,  # noqa: ANN401
        scale: float = 1.0,
    ) -> "Trajectories":
        """Take an entry of a TensorDict: of shape (batch, time), or flat and split by trajectory.

        Args:
            data: a TensorDict.
            key: which entry holds the frames.
            ids: the entry with each frame's trajectory (torchrl: ("collector", "traj_ids")), in data of any shape.
            mask: the entry that is True for a trajectory's own frames in padded data, such as torchrl's ("collector", "mask").
                None is the entry "mask" where there is one of bools; without it, or `ids`, all trajectories fill the time.
            scale: what one unit of a stored number means; a TensorDict does not keep it.

        Raises:
            ValueError: a mask with a hole, ids together with a mask, or a batch of another kind.
        """
        return cls(*conversions.from_tensordict(data, key, ids, mask), scale)

    def to_list(self) -> list[Shaped[Tensor, "_ *frame"]]:
        """Return each trajectory's own frames as they are stored; views."""
        return list(self)

    def to_numpy(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the padded frames as they are stored, and the lengths; views where the frames are on the CPU."""
        return self.frames.detach().cpu().numpy(), self.lengths.numpy()

    def to_tensordict(self, key: Any = "observation") -> Any:  # noqa: ANN401  # an optional package's class
        """Return a TensorDict of batch size (batch, time) with frames under `key`, a mask under "mask" and no scale.

        Raises:
            ImportError: tensordict is not installed.
        """
        return conversions.to_tensordict(self.frames, self.mask, key)

    def _like(self, frames: Tensor, lengths: Tensor) -> "Trajectories":
        """Return a batch of frames that have been checked."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), frames=frames, lengths=lengths)
        return made
