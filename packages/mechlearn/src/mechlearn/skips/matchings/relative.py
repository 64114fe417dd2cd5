"""How far a world moves by itself: what the loss of a match is divided by where skips are relative to distance."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_callable, check_kind, check_whole
from mechlearn.losses import Loss, SquaredError, evaluated
from mechlearn.trajectories import Trajectories

_NUMBERS = 1 << 24
"""In as many frames are compared with later ones at once."""


@torch.no_grad()
def displacement(trajectories: Trajectories, horizon: int, loss: Loss | None = None) -> Float[Tensor, " horizon"]:
    """Return the loss of predicting that nothing moves, by how many frames ahead: mean of L(x_t, x_{t+k}), k = 1 .. horizon.

    With squared error it is the mean squared displacement. As the ``scale`` of `Greedy` it makes a frame count as easy where it
    is predicted well *for its distance*: with a loss that grows with distance the nearest frame is otherwise the cheapest,
    however far the horizon reaches (ours, past the thesis). Take it from the training data, once.

    Args:
        trajectories: of the training data, or the dynamics' targets, where they have some.
        horizon: H.
        loss: of frames as predictions; None is the squared error, averaged over a frame.

    Returns:
        In float64. Behind the longest trajectory's reach, where nothing is ever matched, the last value there is.

    Raises:
        TypeError: a horizon that is no whole number.
        ValueError: a horizon below 1, no trajectory of two frames, or a world at rest, whose displacement is 0.
    """
    check_kind("trajectories", trajectories, Trajectories, "mechlearn.trajectories.Trajectories")
    if loss is not None:
        check_callable("loss", loss, "a function of predictions and frames, or None")
    check_whole("horizon", horizon, 1)
    found: list[Tensor] = []
    each = max(1, _NUMBERS // max(1, math.prod(trajectories.frame_shape)))  # pairs to compare at once
    for k in range(1, min(horizon, int(trajectories.lengths.max()) - 1) + 1):
        own = torch.arange(trajectories.time - k) < (trajectories.lengths - k)[:, None]
        rows, times = own.nonzero().unbind(1)
        parts = zip(rows.split(each), times.split(each), strict=True)
        losses = [_apart(trajectories, loss or SquaredError(), some, at, k).double() for some, at in parts]
        found.append(torch.cat(losses).mean().cpu())
    if not found:
        raise ValueError("A displacement should be measured over 2 frames or more. Found none so long. Take longer ones.")
    found += found[-1:] * (horizon - len(found))
    scale = torch.stack(found)
    if not (scale.isfinite() & (scale > 0)).all():
        k = int((~(scale.isfinite() & (scale > 0))).nonzero()[0]) + 1
        raise ValueError(
            f"Every displacement should be positive and finite. Found {float(scale[k - 1])} for {k} frames ahead. Leave out "
            "trajectories at rest, or give a scale of your own."
        )
    return scale


def _apart(trajectories: Trajectories, loss: Loss, rows: Tensor, times: Tensor, k: int) -> Float[Tensor, " n"]:
    """Return the loss of each of some frames and the one k after it."""
    wide = torch.promote_types(trajectories.value_dtype, torch.float32)
    start, end = (trajectories.at(rows, at, wide) for at in (times, times + k))
    return evaluated(loss, start, end)
