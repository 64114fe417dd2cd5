"""What a student or a teacher may read: a tensor, a mapping of several, or trajectories of different lengths with a mask.

A TensorDict is a mapping; modules get a plain dictionary. `mechlearn.trajectories.Trajectories` become `Ragged`: their frames
as a model sees them, with zeros behind a trajectory's end, and a mask that says which frames are its own. All these have one
leading dimension, the examples'; in batches of an unroll two. Where there is one tensor, every function here does what is done
to it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from mechlearn.trajectories import Trajectories


class Ragged(NamedTuple):
    """Trajectories of different lengths, as a module gets them.

    Attributes:
        frames: (B, T, *frame) padded to the longest one's length.
        mask: (B, T) True where a frame is a trajectory's own. What lies behind should change nothing of what a teacher says.
    """

    frames: Shaped[Tensor, "b t ..."]
    mask: Bool[Tensor, "b t"]

    @classmethod
    def of(cls, trajectories: Trajectories) -> "Ragged":
        """Return trajectories as floats, zeros behind each one's end."""
        mask = trajectories.mask
        own = mask.reshape(*mask.shape, *[1] * len(trajectories.frame_shape))
        return cls(trajectories.values().masked_fill(~own, 0.0), mask)


Inputs = Tensor | Mapping[str, Any] | Ragged | Trajectories
"""Tensors under one roof: one, a mapping (of all that stands here), or trajectories of different lengths."""


def tensors(inputs: Inputs) -> list[Tensor]:
    """Return all tensors, in a fixed order."""
    if isinstance(inputs, Tensor):
        return [inputs]
    parts = inputs.values() if isinstance(inputs, Mapping) else _ragged(inputs)
    return [tensor for part in parts for tensor in tensors(part)]


def first(inputs: Inputs) -> Tensor:
    """Return a tensor that tells the device and the floating-point type: the first of floats, else the first."""
    found = tensors(inputs)
    return next((tensor for tensor in found if tensor.is_floating_point()), found[0])


def mapped(function: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    """Return inputs of the same build with a function of every tensor."""
    if isinstance(inputs, Tensor):
        return function(inputs)
    if isinstance(inputs, Mapping):
        return {name: mapped(function, part) for name, part in inputs.items()}
    return Ragged(*map(function, _ragged(inputs)))


def _ragged(inputs: Ragged | Trajectories) -> Ragged:
    return Ragged.of(inputs) if isinstance(inputs, Trajectories) else inputs


def at(inputs: Inputs, index: Any) -> Inputs:  # noqa: ANN401  # whatever a tensor can be indexed by
    """Return what stands at an index."""
    return mapped(lambda tensor: tensor[index], inputs)


def pieces(inputs: Inputs, size: int) -> Iterator[Inputs]:
    """Return runs of so many along the leading dimension, the last one shorter."""
    return (at(inputs, slice(start, start + size)) for start in range(0, len(first(inputs)), size))


def build(inputs: Inputs) -> object:
    """Return what inputs are made of, without their numbers: for telling two builds apart."""
    if isinstance(inputs, Tensor):
        return None
    if isinstance(inputs, Mapping):
        return tuple((name, build(part)) for name, part in inputs.items())
    return Ragged.__name__


def prepared(name: str, given: object, dims: int) -> Inputs:
    """Return what was given as inputs with so many leading dimensions.

    Args:
        name: of the argument.
        given: a tensor, a mapping such as a TensorDict, trajectories, or `Ragged`.
        dims: 1 for examples, 2 for the batches of an unroll.
    """
    if isinstance(given, Trajectories) and dims == 1:
        return Ragged.of(given)
    if isinstance(given, Ragged):
        _check_ragged(name, given, dims)
        return given
    if isinstance(given, Mapping):
        entries = cast(Mapping[str, object], given)
        if not list(entries.keys()):  # a TensorDict has no truth value
            raise ValueError(f"`{name}` should have entries. Found an empty {type(given).__name__}. Put tensors into it.")
        return {key: prepared(f"{name}[{key!r}]", part, dims) for key, part in entries.items()}
    if not isinstance(given, Tensor) or given.is_nested:
        raise TypeError(_no_inputs(name, given))
    if given.dim() < dims:
        shape, found = ("(B, ...)", "(n, B, ...)")[dims - 1], "a scalar" if given.dim() == 0 else f"shape {tuple(given.shape)}"
        raise ValueError(f"`{name}` should have the shape {shape}. Found {found}. Give one row for each example.")
    return given


def _check_ragged(name: str, given: Ragged, dims: int) -> None:
    shape = ("(B, T)", "(n, B, T)")[dims - 1]
    frames, mask = cast(tuple[object, object], given)
    if not isinstance(frames, Tensor) or not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(
            f"`{name}` should be frames and a mask of bools. Found {type(frames).__name__} and "
            f"{getattr(mask, 'dtype', type(mask).__name__)}. Use Ragged.of(trajectories)."
        )
    if mask.dim() != dims + 1 or mask.shape != frames.shape[: dims + 1]:
        raise ValueError(
            f"`{name}` should have a mask {shape} beside frames {shape[:-1]}, ...). Found {tuple(mask.shape)} beside "
            f"{tuple(frames.shape)}. Use Ragged.of(trajectories)."
        )
    if not bool(mask.any(-1).all()):
        raise ValueError(f"`{name}` should have a frame in every trajectory. Found a mask without any. Leave that one out.")


def _no_inputs(name: str, given: object) -> str:
    what = f"`{name}` should be a tensor, a mapping of tensors, or trajectories with their lengths."
    if isinstance(given, list | tuple) or (isinstance(given, Tensor) and given.is_nested):
        found = "a nested tensor" if isinstance(given, Tensor) else f"a {type(given).__name__}"
        return (
            f"{what} Found {found}, which does not say to a batch how long each of them is. Stack rows of one shape with "
            "torch.stack; pad trajectories of different lengths with mechlearn.trajectories.Trajectories.from_list."
        )
    if isinstance(given, Trajectories):
        return f"{what} Found Trajectories for the batches of an unroll. Take Examples(x, trajectories, y).rows(...), (n, B)."
    found = "None" if given is None else f"an object of type {type(given).__name__}"
    return f"{what} Found {found}. Convert it with torch.as_tensor."
