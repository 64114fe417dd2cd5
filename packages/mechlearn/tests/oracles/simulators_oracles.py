"""Temporally abstract simulators, slow and literal: sums over skips, memories, options, parts; one trajectory at a time.

Nothing here imports mechlearn. Frames are floats of shape (T, *frame), counted from 0. Step u of a trajectory reads the numbers
``uniforms[u]``: whether to explore, where to, whether the true frame is fed.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Compare = Callable[[Tensor, Tensor], Tensor]


class Walked(NamedTuple):
    loss: Tensor
    frames: list[int]
    sums: list[float]
    evaluations: int


def gained(rewards: Sequence[float], start: int, end: int, gamma: float) -> float:
    """R_t^k = sum_{i < k} gamma^i R_{t+i}; rewards[t] is gained between frame t and frame t + 1."""
    total = 0.0
    for i, t in enumerate(range(start, end)):
        total += gamma**i * rewards[t]
    return total


def simulator(
    f: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]],
    x: Tensor,
    loss: Compare,
    rewards: Sequence[float],
    settings: tuple[int, int, float, float, float],
    memory: Tensor,
    uniforms: list[list[float]] | None,
) -> Walked:
    """Algorithm 1 of f(frame, memory) -> (prediction, predicted sum or (sum, discount), memory).

    Settings: horizon, how many first frames are shown, gamma, the weight of the cumulants' squared error, teacher forcing.
    """
    horizon, shown, gamma, weight, epsilon = settings
    h, evaluations = memory, 0
    for t in range(shown - 1):
        h = f(x[t], h)[2]
        evaluations += 1
    t, u, given, last = shown - 1, 0, x[shown - 1], len(x) - 1
    losses, frames, sums = [], [], []
    while t < last:
        z, r, h = f(given, h)
        evaluations += 1
        window = range(t + 1, min(t + horizon, last) + 1)
        values = [float(loss(z, x[k]).detach()) for k in window]
        after = window[values.index(min(values))]
        g = gained(rewards, t, after, gamma)
        target = torch.tensor([g] if gamma == 1 else [g, gamma ** (after - t)], dtype=x.dtype)
        losses.append(loss(z, x[after]) + weight * ((r - target) ** 2).mean())
        frames.append(after)
        sums.append(g)
        truth = epsilon == 1 or (epsilon > 0 and uniforms is not None and uniforms[u][2] < epsilon)
        given = x[after] if truth else z
        t, u = after, u + 1
    return Walked(sum(losses, torch.zeros((), dtype=x.dtype)) / len(losses), frames, sums, evaluations)


def added(steps: Sequence[Sequence[float]], gamma: float) -> tuple[list[float], list[float]]:
    """What a roll-out has gained after each step, from predicted sums (and discounts, cut to [0, gamma])."""
    total, discount, sums, discounts = 0.0, 1.0, [], []
    for step in steps:
        total += discount * step[0]
        if gamma < 1:
            discount *= min(max(step[1], 0.0), gamma)
        sums.append(total)
        discounts.append(discount)
    return sums, discounts


def time_agnostic(z: Tensor, x: Tensor, t: int, loss: Compare, w: Callable[[float], float]) -> tuple[int, float]:
    """The frame t' > t of least L(z, x_t') / w(share of the way left that t' has gone), and that quotient."""
    last = len(x) - 1
    costs = {}
    for k in range(t + 1, last + 1):
        weight = w((k - t) / (last - t))
        costs[k] = float(loss(z, x[k]).detach()) / weight if weight > 0 else math.inf
    best = min(costs, key=lambda k: (costs[k], k))
    return best, costs[best]


def option_end(ids: Sequence[int], t: int, last: int) -> int:
    """The first frame after t at which another option runs, or the last frame."""
    k = t + 1
    while k < last and ids[k] == ids[t]:
        k += 1
    return k


def with_options(
    f: Callable[[Tensor, int], Tensor], x: Tensor, ids: Sequence[int], loss: Compare, horizon: int, reaches_end: bool
) -> Walked:
    """Greedy matches that never pass an option's end; that end is a candidate beyond the horizon, too, where it reaches."""
    t, last, losses, frames = 0, len(x) - 1, [], []
    while t < last:
        z = f(x[t], ids[t])
        end = option_end(ids, t, last)
        window = list(range(t + 1, min(t + horizon, end) + 1))
        if reaches_end and window[-1] != end:
            window.append(end)
        values = [float(loss(z, x[k]).detach()) for k in window]
        t = window[values.index(min(values))]
        losses.append(loss(z, x[t]))
        frames.append(t)
    return Walked(sum(losses, torch.zeros((), dtype=x.dtype)) / len(losses), frames, [], len(frames))


class Rolled(NamedTuple):
    frames: Tensor
    times: list[list[float]]
    evaluations: int


def parts_rolled(
    models: Sequence[Callable[..., tuple[Tensor, float]]],
    elements: Sequence[Sequence[int]],
    x0: Tensor,
    count: int,
    settings: tuple[bool, bool],
) -> Rolled:
    """One trajectory's parts side by side; settings: whether each sees the others, whether straight lines lie in between."""
    sees_all, linear = settings
    times = [[0.0] for _ in models]
    frames = [[x0[list(own)]] for own in elements]
    evaluations = 0

    def value(p: int, time: float) -> Tensor:
        for k in range(len(times[p]) - 1, -1, -1):
            if times[p][k] == time:
                return frames[p][k]
            if times[p][k] < time:
                if not linear:
                    return frames[p][k]
                share = (time - times[p][k]) / (times[p][k + 1] - times[p][k])
                return frames[p][k] + share * (frames[p][k + 1] - frames[p][k])
        raise AssertionError

    while min(own[-1] for own in times) < count - 1:
        p = min(range(len(models)), key=lambda q: (times[q][-1], q))
        now, own = times[p][-1], frames[p][-1]
        if sees_all and len(models) > 1:
            whole = torch.zeros_like(x0)
            for q, places in enumerate(elements):
                whole[list(places)] = value(q, now)
            others = whole[[e for e in range(len(x0)) if e not in elements[p]]]
            z, duration = models[p](own, others)
        else:
            z, duration = models[p](own)
        evaluations += 1
        times[p].append(now + max(1.0, duration))
        frames[p].append(z)
    made = torch.zeros(count, *x0.shape, dtype=x0.dtype)
    for t in range(count):
        for q, places in enumerate(elements):
            made[t, list(places)] = value(q, float(t))
    return Rolled(made, times, evaluations)
