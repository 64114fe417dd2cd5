"""Thesis algorithm 1 and its relatives, slow and literal: one trajectory, one frame, one number at a time.

Nothing here imports mechlearn. Frames are floats of shape (T, *frame), counted from 0 where the thesis counts from 1. A step u
reads the numbers ``uniforms[u]``: whether to explore, where to, whether the true frame is fed.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

Compare = Callable[[Tensor, Tensor], Tensor]


class Followed(NamedTuple):
    loss: Tensor
    step_losses: list[float]
    skips: list[int]
    explored: list[bool]
    predictions: list[Tensor]
    evaluations: int


def uniforms_of(length: int, generator: Generator) -> list[list[float]]:
    return torch.rand(length - 1, 3, dtype=torch.float64, generator=generator).tolist()


def bce_with_logits(z: Tensor, x: Tensor) -> Tensor:
    return (torch.log1p(torch.exp(-z.abs())) + z.clamp(min=0) - z * x).mean()


def bce(z: Tensor, x: Tensor) -> Tensor:
    return -(x * torch.log(z + 1e-6) + (1 - x) * torch.log(1 - z + 1e-6)).mean()


def squared_error(z: Tensor, x: Tensor) -> Tensor:
    return ((z - x) ** 2).mean()


def gaussian(z: Tensor, x: Tensor) -> Tensor:
    variance = z[1].exp()
    return (0.5 * torch.log(2 * math.pi * variance) + (x - z[0]) ** 2 / (2 * variance)).mean()


def absolute_error(z: Tensor, x: Tensor) -> Tensor:
    return (z - x).abs().mean()


def algorithm_1(
    f: Callable[[Tensor, int], Tensor],
    x: Tensor,
    loss: Compare,
    feed: Callable[[Tensor], Tensor],
    horizon: int,
    mu: float,
    epsilon: float,
    uniforms: list[list[float]] | None,
    targets: Tensor | None = None,
) -> Followed:
    """Lines 1 to 15; f is given one input frame and the time that it stands at."""
    return greedy(f, x, loss, feed, (horizon, 1, None, False), (mu, epsilon), uniforms, targets)


def greedy(
    f: Callable[[Tensor, int], Tensor],
    x: Tensor,
    loss: Compare,
    feed: Callable[[Tensor], Tensor],
    window: tuple[int, int, list[float] | None, bool],
    probabilities: tuple[float, float],
    uniforms: list[list[float]] | None,
    targets: Tensor | None = None,
) -> Followed:
    """Algorithm 1 with (horizon, nearest, what the loss k frames ahead is divided by, whether the last of equals wins)."""
    targets = x if targets is None else targets
    horizon, nearest, scale, last_wins = window
    mu, epsilon = probabilities
    last, t, u, given = len(x) - 1, 0, 0, x[0]
    losses, skips, explored, predictions = [], [], [], []
    while t < last:
        z = f(given, t)
        candidates = [k for k in range(t + nearest, t + horizon + 1) if k <= last] or [last]
        explores = mu > 0 and uniforms[u][0] < mu
        if explores:
            after = candidates[int(uniforms[u][1] * len(candidates))]
        else:
            values = [float(loss(z, targets[k]).detach()) / (1 if scale is None else scale[k - t - 1]) for k in candidates]
            best = [k for k, value in zip(candidates, values, strict=True) if value == min(values)]
            after = best[-1] if last_wins else best[0]
        losses.append(loss(z, targets[after]))
        skips.append(after - t)
        explored.append(explores)
        predictions.append(z)
        feeds_truth = epsilon == 1 or (epsilon > 0 and uniforms[u][2] < epsilon)
        given = x[after] if feeds_truth else feed(z)
        t, u = after, u + 1
    mean = sum(losses) / len(losses)
    return Followed(mean, [float(one.detach()) for one in losses], skips, explored, predictions, u)


def fixed(f: Callable[[Tensor, int], Tensor], x: Tensor, loss: Compare, dt: int, last: str) -> Followed:
    """A step of dt frames from true frames; the last one is clamped or dropped."""
    t, losses, skips, predictions = 0, [], [], []
    while t < len(x) - 1:
        if t + dt >= len(x) and last == "drop":
            break
        after = min(t + dt, len(x) - 1)
        z = f(x[t], t)
        losses.append(loss(z, x[after]))
        skips.append(after - t)
        predictions.append(z)
        t = after
    return Followed(
        sum(losses) / len(losses), [float(one.detach()) for one in losses], skips, [False] * len(skips), predictions, len(skips)
    )


def paths(length: int, horizon: int) -> list[tuple[int, ...]]:
    """Every path 0 = t_0 < ... < t_U = length - 1 without a skip above the horizon."""
    inner = range(1, length - 1)
    every = ((0, *middle, length - 1) for size in range(length - 1) for middle in itertools.combinations(inner, size))
    return [path for path in every if all(b - a <= horizon for a, b in itertools.pairwise(path))]


def best_path(costs: list[list[float]], horizon: int, inputs: str, cost: str) -> tuple[int, ...]:
    """The path of least cost by enumeration; fewest steps first, then the earliest frames compared from the end."""

    def price(path: tuple[int, ...]) -> float:
        steps = [costs[a if inputs == "frames" else u][b] for u, (a, b) in enumerate(itertools.pairwise(path))]
        return sum(steps) / (len(steps) if cost == "mean" else 1)

    return min(paths(len(costs[0]), horizon), key=lambda path: (price(path), len(path), path[::-1]))
