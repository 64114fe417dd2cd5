"""What a model returned, taken apart, and laid in one tensor where a matching carries it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.skips.simulators.cumulants import Cumulants


class Outcome(NamedTuple):
    """What a model returned for n frames.

    Attributes:
        prediction: (n, *z).
        cumulants: (n, width) where the dynamics have some.
        state: (n, *state) where they have a memory.
    """

    prediction: Tensor
    cumulants: Float[Tensor, "n width"] | None = None
    state: Float[Tensor, "n *state"] | None = None


def taken_apart(returned: Any, cumulants: Cumulants | None, state: Tensor | None) -> Outcome:  # noqa: ANN401  # a model's
    """Take apart what a model returned: its prediction, then the cumulants, then the new state, where there are such."""
    names = [name for name, there in (("cumulants", cumulants), ("state", state)) if there is not None]
    if not names:
        return Outcome(_floats(returned))
    wanted = f"({', '.join(('prediction', *names))})"
    if not isinstance(returned, tuple) or len(returned) != 1 + len(names):
        found = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else type(returned).__name__
        raise TypeError(f"The model should return {wanted}, as its dynamics have {' and '.join(names)}. Found {found}.")
    prediction, *rest = (_floats(each) for each in returned)
    parts = dict(zip(names, rest, strict=True))
    if cumulants is not None:
        parts["cumulants"] = _cumulants(parts["cumulants"], len(prediction), cumulants)
    if state is not None and parts["state"].shape != state.shape:
        raise ValueError(
            f"The model should return its state in the shape that it was given it, {tuple(state.shape)}. Found "
            f"{tuple(parts['state'].shape)}. The shape is that of Memory(initial): mend the one or the other."
        )
    return Outcome(prediction, parts.get("cumulants"), parts.get("state"))


def _floats(found: object) -> Tensor:
    if not (isinstance(found, Tensor) and found.is_floating_point()):
        what = f"a tensor of {found.dtype}" if isinstance(found, Tensor) else type(found).__name__
        raise TypeError(f"The model should return one tensor of floats. Found {what}.")
    return found


def _cumulants(found: Tensor, count: int, cumulants: Cumulants) -> Tensor:
    width = cumulants.width
    shapes = [(count, width)] + ([(count,)] if width == 1 else [])
    if tuple(found.shape) not in shapes:
        what = (
            "the sum of cumulants over its skip" if width == 1 else "their discounted sum over its skip and the discount of it"
        )
        raise ValueError(
            f"The model should return {what} for each of {count} frames, shape {' or '.join(map(str, shapes))}. Found "
            f"{tuple(found.shape)}."
        )
    return found.reshape(count, width)


@dataclass
class Layout:
    """How predictions lie in one tensor with cumulants and state: [prediction, cumulants, state], flat, one row for each.

    A matching cuts, joins and orders rows, and need not know what they hold. Where there is neither, rows are predictions.
    Parts of several types lie there in the widest, which holds each number as it is, and come out in their own.

    Args:
        width: of cumulants; 0 where there are none.
        state: the shape of one state; None where there is none.
    """

    width: int = 0
    state: tuple[int, ...] | None = None
    _shape: tuple[int, ...] = ()
    _made: tuple[torch.dtype, torch.dtype] | None = None
    """Types of predictions and states that lie in rows."""
    _given: tuple[torch.dtype, torch.dtype] | None = None
    """Types of frames and states that lie in inputs."""

    @property
    def plain(self) -> bool:
        """Whether rows are predictions and nothing else."""
        return self.width == 0 and self.state is None

    def row(self, outcome: Outcome) -> Tensor:
        """Return outcomes as rows."""
        if self.plain:
            return outcome.prediction
        self._shape = tuple(outcome.prediction.shape[1:])
        self._made = outcome.prediction.dtype, (outcome.prediction if outcome.state is None else outcome.state).dtype
        return torch.cat([part.reshape(len(part), -1) for part in outcome if part is not None], dim=1)

    def prediction(self, rows: Tensor) -> Tensor:
        """Return the predictions of rows."""
        if self.plain:
            return rows
        assert self._made is not None  # rows come from `row`
        return rows[:, : rows.shape[1] - self._tail].reshape(len(rows), *self._shape).to(self._made[0])

    def cumulants(self, rows: Tensor) -> Float[Tensor, "n width"]:
        """Return the cumulants of rows."""
        start = rows.shape[1] - self._tail
        return rows[:, start : start + self.width]

    def with_state(self, frames: Tensor, rows: Tensor | None, initial: Tensor | None = None) -> Tensor:
        """Return inputs: frames, with the states of rows, or initial ones, beside them."""
        if self.state is None:
            return frames
        if rows is not None:
            assert self._made is not None  # rows come from `row`
            initial = rows[:, rows.shape[1] - self._states :].to(self._made[1])
        assert initial is not None  # one of both is given
        self._given = frames.dtype, initial.dtype
        return torch.cat([frames.reshape(len(frames), -1), initial.reshape(len(frames), -1)], dim=1)

    def split(self, inputs: Tensor, frame_shape: Sequence[int]) -> tuple[Tensor, Tensor | None]:
        """Return the frames and states of inputs."""
        if self.state is None:
            return inputs, None
        cut = inputs.shape[1] - self._states
        assert self._given is not None  # inputs come from `with_state`
        frames, states = inputs[:, :cut].to(self._given[0]), inputs[:, cut:].to(self._given[1])
        return frames.reshape(-1, *frame_shape), states.reshape(-1, *self.state)

    @property
    def _states(self) -> int:
        return 0 if self.state is None else torch.Size(self.state).numel()

    @property
    def _tail(self) -> int:
        return self.width + self._states
