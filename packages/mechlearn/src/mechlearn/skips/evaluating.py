"""How a trained model is scored on held-out trajectories: by where its roll-outs end, and by how close they keep to the truth.

The error within a matching's own windows is no score: a larger window makes it smaller, whatever the model does.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Generator, Tensor

from mechlearn.arguments import check_callable, check_kind
from mechlearn.losses import Loss, SquaredError, evaluated
from mechlearn.skips.dynamics import Dynamics, check_kinds
from mechlearn.skips.rollout import Rollout, Stop, rollout
from mechlearn.trajectories import Trajectories

Reader = Callable[[Shaped[Tensor, "length *frame"]], object]
"""From the frames of one trajectory to its label, such as a colour; None where they show none."""

_PAIRS = 1 << 20
"""Numbers in as many pairs of frames as are compared at once."""


class Scores(NamedTuple):
    """How roll-outs compare with the trajectories that they start like; each (batch,), distances by the loss given.

    Attributes:
        final: from the last frame of the roll-out to the true last one.
        off_path: from each predicted frame to the nearest true one, on average: whether what is predicted ever happens.
        coverage: from each true frame to the nearest of the roll-out, on average: what is left out. It favours many steps.
        right: whether both show the same label, or both none; None without a reader.
        rolled: the roll-outs.
    """

    final: Float[Tensor, " batch"]
    off_path: Float[Tensor, " batch"]
    coverage: Float[Tensor, " batch"]
    right: Bool[Tensor, " batch"] | None
    rolled: Rollout

    def means(self) -> dict[str, float]:
        """Return the means over trajectories, and model evaluations for each trajectory."""
        found = {name: float(getattr(self, name).double().mean()) for name in ("final", "off_path", "coverage")}
        if self.right is not None:
            found["right"] = float(self.right.double().mean())
        return found | {"evaluations": self.rolled.evaluations / len(self.final)}


def evaluate(
    dynamics: Dynamics,
    trajectories: Trajectories,
    *,
    max_steps: int,
    stop: Stop | None = None,
    fixed_point: float | None = None,
    read: Reader | None = None,
    distance: Loss | None = None,
    generator: Generator | Sequence[Generator] | None = None,
) -> Scores:
    """Roll a model out from the first frame of each held-out trajectory, and score what it predicts.

    Where actions come from a policy, call `rollout` yourself and then `scored`.

    Args:
        dynamics: the model, and its static context for these trajectories, where there is one.
        trajectories: held out from training.
        max_steps: how many times the model is applied at most. A model of skips needs about the length of a trajectory divided
            by its mean skip, `Matched.mean_skip`.
        stop: see `rollout`.
        fixed_point: see `rollout`.
        read: what a trajectory's frames show, as the experiments of the thesis read a label off predicted frames.
        distance: between frames; None is the squared error, averaged over a frame.
        generator: for feedback that samples, see `rollout`.

    Returns:
        Distances and labels of each trajectory, (batch,) each, see `Scores`.

    Raises:
        TypeError, ValueError, FloatingPointError: those of `rollout`.
    """
    _check_functions(read, distance)
    check_kinds(dynamics, trajectories)
    first = trajectories.first() if dynamics.state is None else dynamics.state.first(trajectories)
    rolled = rollout(dynamics, first, max_steps=max_steps, stop=stop, fixed_point=fixed_point, generator=generator)
    return scored(rolled, trajectories, read=read, distance=distance)


@torch.no_grad()
def scored(rolled: Rollout, trajectories: Trajectories, *, read: Reader | None = None, distance: Loss | None = None) -> Scores:
    """Score roll-outs that have been made, one for each trajectory, in their order.

    Args:
        rolled: what `rollout` returned.
        trajectories: the true ones.
        read: as in `evaluate`.
        distance: as in `evaluate`.

    Returns:
        Distances and labels of each trajectory, (batch,) each, see `Scores`.

    Raises:
        TypeError: a reader that returns several numbers.
        ValueError: another number of roll-outs, or another shape of frames.
    """
    check_kind("rolled", rolled, Rollout, "what mechlearn.skips.rollout returns")
    check_kind("trajectories", trajectories, Trajectories, "mechlearn.trajectories.Trajectories")
    _check_functions(read, distance)
    made, loss = rolled.trajectories, distance or SquaredError()
    if (len(made), made.frame_shape) != (len(trajectories), trajectories.frame_shape):
        raise ValueError(
            f"There should be one roll-out of frames {trajectories.frame_shape} for each of {len(trajectories)} trajectories. "
            f"Found {len(made)} of frames {made.frame_shape}. Roll out from trajectories.first()."
        )
    rows: list[list[float]] = []
    right: list[bool] = []
    for b, stored in enumerate(trajectories):
        true, predicted = trajectories.decoded(stored), made.decoded(made[b]).to(trajectories.value_dtype)
        table = _distances(loss, predicted, true)
        rows.append([float(table[-1, -1]), float(table[rolled.given :].amin(1).mean()), float(table.amin(0).mean())])
        if read is not None:
            right.append(_same(read(predicted), read(true)))
    final, off_path, coverage = torch.tensor(rows, dtype=torch.float64).unbind(1)
    return Scores(final, off_path, coverage, torch.tensor(right) if read is not None else None, rolled)


def _same(label: object, true: object) -> bool:
    found = torch.as_tensor(label == true)
    if found.numel() != 1:
        raise TypeError(
            f"`read` should return one label, such as a whole number or a string, or None. Found {type(label).__name__} of "
            f"shape {tuple(getattr(label, 'shape', ()))}. Return a tuple where a label has parts."
        )
    return bool(found)


def _check_functions(read: Reader | None, distance: Loss | None) -> None:
    for name, function in (("read", read), ("distance", distance)):
        if function is not None:
            check_callable(name, function, "a function of frames, or None")


def _distances(loss: Loss, predicted: Tensor, true: Tensor) -> Float[Tensor, "predicted true"]:
    """Return the distance of every predicted frame to every true one."""
    chunk = max(1, _PAIRS // max(1, len(true) * math.prod(true.shape[1:])))
    parts: list[Tensor] = []
    for some in predicted.split(chunk):
        left = some.unsqueeze(1).expand(-1, len(true), *some.shape[1:]).flatten(0, 1)
        right = true.unsqueeze(0).expand(len(some), *true.shape).flatten(0, 1)
        parts.append(evaluated(loss, left, right).reshape(len(some), len(true)).cpu())
    return torch.cat(parts)
