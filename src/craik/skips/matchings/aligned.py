"""Aligning all predictions of a trajectory at once, by dynamic programming (see `OptimalAlignment`)."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from craik.losses import evaluated
from craik.skips.matchings.greedy import Chosen
from craik.skips.predicting import Problem
from craik.skips.settings import OptimalAlignment
from craik.skips.tracks import Track

Costs = Float[np.ndarray, "made frames"]


def align(problem: Problem, settings: OptimalAlignment, keep: bool) -> Track:
    """Predict along every trajectory, then align; predictions that the alignment leaves out have no part in the loss.

    Args:
        problem: what is predicted.
        settings: horizon, inputs and cost.
        keep: whether to keep predictions.

    Raises:
        FloatingPointError: a loss that is NaN, or no path of finite loss.
    """
    lengths: list[int] = problem.trajectories.lengths.tolist()
    track = Track(len(lengths), keep)
    predictions = _from_frames(problem, lengths) if settings.inputs == "frames" else _from_predictions(problem, lengths)
    track.evaluations = sum(lengths) - len(lengths)
    for b, (length, made) in enumerate(zip(lengths, predictions, strict=True)):
        seen = problem.compared(made, length - 1)
        costs = _costs(problem, b, seen.detach(), settings)
        path = cheapest_path(costs, settings)
        times, frames = path[:-1], path[1:]
        used = times if settings.inputs == "frames" else list(range(len(frames)))
        _check_total(float(costs[used, frames].sum()), b)
        losses = problem.losses(seen[used], [b] * len(frames), frames)
        chosen = Chosen(frames, [False] * len(frames))
        track.add([b] * len(frames), list(range(len(frames))), times, chosen, losses, made[used])
    return track


def _from_frames(problem: Problem, lengths: list[int]) -> list[Tensor]:
    """Return for each trajectory the prediction made from each of its frames but the last."""
    rows = [b for b, length in enumerate(lengths) for _ in range(length - 1)]
    times = [t for length in lengths for t in range(length - 1)]
    predictions = problem.predict(problem.trajectories.at(rows, times), rows, times)
    return list(predictions.split([length - 1 for length in lengths]))


def _from_predictions(problem: Problem, lengths: list[int]) -> list[Tensor]:
    """Return for each trajectory as many predictions, each made from the one before, as it has transitions."""
    rows = list(range(len(lengths)))
    made: list[list[Tensor]] = [[] for _ in lengths]
    inputs = problem.trajectories.first()
    for u in range(max(lengths) - 1):
        prediction = problem.predict(inputs, rows, [u] * len(rows))
        for b, one in zip(rows, prediction, strict=True):
            made[b].append(one)
        going = [i for i, b in enumerate(rows) if u + 2 < lengths[b]]
        rows = [rows[i] for i in going]
        if rows:
            inputs = problem.fed(prediction[going])
    return [torch.stack(each) for each in made]


@torch.no_grad()
def _costs(problem: Problem, b: int, seen: Tensor, settings: OptimalAlignment) -> Costs:
    """Return the loss of each prediction, in the order they were made, against each frame it may reach; else infinity."""
    length = len(seen) + 1
    costs = np.full((length - 1, length), np.inf)
    for u, z in enumerate(seen):
        # From frame u a step reaches u + 1 .. u + H; the prediction of step u lies between u + 1 and (u + 1) H.
        reach = settings.horizon if settings.inputs == "frames" else u * (settings.horizon - 1) + settings.horizon
        frames = range(u + 1, min(u + reach, length - 1) + 1)
        targets = problem.targets.at([b] * len(frames), list(frames))
        costs[u, frames.start : frames.stop] = evaluated(problem.loss, z.expand(len(frames), *z.shape), targets).double().cpu()
    if np.isnan(costs).any():
        raise FloatingPointError(
            f"Every loss should be finite. Found NaN in trajectory {b} of the batch. Lower the learning rate or clip gradients."
        )
    return costs


def _check_total(total: float, b: int) -> None:
    """Refuse losses so large that no path is better than another; a frame that costs infinity is merely avoided."""
    if not math.isfinite(total):
        raise FloatingPointError(
            f"The loss of the best alignment should be finite. Found {total} in trajectory {b} of the batch. Lower the "
            "learning rate or clip gradients."
        )


def cheapest_path(costs: Costs, settings: OptimalAlignment) -> list[int]:
    """Return the frames 0 = t_0 < ... < t_U = T - 1 of the path of least cost.

    With D_k(t') the least sum of k steps that end at frame t', D_k(t') = min over t in t' - H .. t' - 1 of D_{k-1}(t) + the
    cost of the k-th step; the path is the best of D_k(T - 1) over k, by its sum or by its mean.

    Args:
        costs: (T - 1, T) the cost of a step to each frame, by the frame it starts from (``inputs="frames"``) or by its number.
        settings: horizon, inputs and cost.
    """
    length = costs.shape[1]
    before = np.full(length, np.inf)
    before[0] = 0.0
    origins: list[Int[np.ndarray, " frames"]] = []
    totals: list[float] = []
    for k in range(length - 1):
        before, origin = _one_more_step(before, costs if settings.inputs == "frames" else costs[k], settings.horizon)
        origins.append(origin)
        totals.append(before[-1] / (k + 1 if settings.cost == "mean" else 1))
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
