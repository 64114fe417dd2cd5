"""The path of least cost through the frames of a trajectory, no step longer than a horizon: dynamic programming."""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Inputs = Literal["frames", "predictions"]
"""What a prediction is made from."""

Cost = Literal["mean", "sum"]
"""Of a path, over its steps."""

Costs = Float[np.ndarray, "made frames"]


def cheapest_path(costs: Costs, horizon: int, inputs: Inputs, cost: Cost) -> list[int]:
    """Return the frames 0 = t_0 < ... < t_U = T - 1 of the path of least cost.

    With D_k(t') the least sum of k steps that end at frame t', D_k(t') = min over t in t' - H .. t' - 1 of D_{k-1}(t) + the
    cost of the k-th step; the path is the best of D_k(T - 1) over k, by its sum or by its mean.

    Args:
        costs: (T - 1, T) the cost of a step to each frame, by the frame it starts from (``inputs="frames"``) or by its number.
        horizon: H, the longest step.
        inputs: whether a step's costs depend on the frame it starts from, or on its number.
        cost: of a path; of equally good ones that with the fewest steps is taken.
    """
    length = costs.shape[1]
    before = np.full(length, np.inf)
    before[0] = 0.0
    origins: list[Int[np.ndarray, " frames"]] = []
    totals: list[float] = []
    for k in range(length - 1):
        before, origin = _one_more_step(before, costs if inputs == "frames" else costs[k], horizon)
        origins.append(origin)
        totals.append(before[-1] / (k + 1 if cost == "mean" else 1))
    steps = int(np.argmin(totals)) + 1
    path = [length - 1]
    for origin in reversed(origins[:steps]):
        path.append(int(origin[path[-1]]))
    return path[::-1]


def _one_more_step(
    before: Float[np.ndarray, " frames"], costs: Float[np.ndarray, "*made frames"], horizon: int
) -> tuple[Float[np.ndarray, " frames"], Int[np.ndarray, " frames"]]:
    """Return the least sums with one more step, and the frame that this step starts from; the earliest of the best."""
    length = len(before)
    least = np.full(length, np.inf)
    origin = np.zeros(length, dtype=np.int64)
    for skip in range(min(horizon, length - 1), 0, -1):  # the longest first: the earliest origin wins a tie
        starts = np.arange(length - skip)
        step = costs[starts, starts + skip] if costs.ndim == 2 else costs[skip:]
        sums = before[starts] + step
        better = sums < least[skip:]
        least[skip:][better] = sums[better]
        origin[skip:][better] = starts[better]
    return least, origin
