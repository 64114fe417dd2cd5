"""The ways to match and to step, each ready to be timed.

Index convention: b runs over trajectories, u over a trajectory's steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from mechlearn_zoo_benchmarks.entrants.following import literal
from mechlearn_zoo_benchmarks.entrants.following.worlds import HalfResolution, Size, with_floats, world
from mechlearn_zoo_benchmarks.measuring.timing import Step
from torch import Generator, Tensor, nn

from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.skips import Dynamics, Greedy, Matched, match
from mechlearn.skips.matchings.ranking import Ranker
from mechlearn.trajectories import Trajectories

Found = list[list[int]]
"""Matched frames: of each trajectory, or of each step."""

Asked = tuple[Tensor, list[int], list[int]]
"""The predictions of a step, the trajectories they belong to, and the frames they were made at."""

BASE = "literal gather"
BYTES = "mechlearn, frames in bytes"
ALONE = "network alone"
LOSS = BinaryCrossEntropyWithLogits()


class Way(NamedTuple):
    """A method at work: a step to time, and what it matched."""

    step: Step
    found: Found


def matching(size: Size, batch: int, horizon: int, seed: int) -> dict[str, Way]:
    """Return the ways to match given predictions: those of an untrained network along the path that it takes."""
    in_bytes = world(size, batch, seed)
    floats = with_floats(in_bytes)
    lengths: list[int] = floats.lengths.tolist()
    with torch.no_grad():
        track = match(Dynamics(_model(size, seed), LOSS), floats, Greedy(horizon), keep_predictions=True)
    asked = _steps(track)

    def ranked(x: Trajectories) -> Found:
        ranker = Ranker(LOSS, x, horizon)
        return [
            ranker.best(
                z, rows, [t + 1 for t in times], [min(t + 1 + horizon, lengths[b]) for b, t in zip(rows, times, strict=True)]
            )
            for z, rows, times in asked
        ]

    @torch.no_grad()
    def evaluated(losses: Callable[..., Tensor]) -> Found:
        return [
            (torch.tensor(times) + 1 + losses(floats.frames, z, rows, times, lengths, horizon).argmin(1)).tolist()
            for z, rows, times in asked
        ]

    return _ways(
        {
            BASE: lambda: evaluated(literal.gather),
            "mechlearn": lambda: ranked(floats),
            BYTES: lambda: ranked(in_bytes),
            "loop over frames": lambda: evaluated(literal.loop),
            "published style": lambda: evaluated(literal.gather_one_by_one),
        }
    )


def stepping(size: Size, batch: int, horizon: int, seed: int) -> dict[str, Way]:
    """Return the ways to take a training step, the optimiser's part left out, and the network's share of it.

    The network alone takes the same inputs forward and a sum backward: what no way to match can save.
    """
    in_bytes = world(size, batch, seed)
    floats = with_floats(in_bytes)
    steps = {
        method: one_step(method, size, in_bytes if method == BYTES else floats, horizon, seed)
        for method in (BASE, "mechlearn", BYTES, "published style")
    }
    return _ways({**steps, ALONE: _network_alone(size, floats, horizon, seed)})


def _network_alone(size: Size, x: Trajectories, horizon: int, seed: int) -> Callable[[], Found]:
    model = _model(size, seed)
    with torch.no_grad():
        asked = _steps(match(Dynamics(model, LOSS), x, Greedy(horizon), keep_predictions=True))
    inputs = [x.at(rows, times) for _, rows, times in asked]

    def step() -> Found:
        _backward(model, torch.stack([model(each).sum() for each in inputs]).sum())
        return []

    return step


def one_step(method: str, size: Size, x: Trajectories, horizon: int, seed: int) -> Callable[[], Found]:
    """Return a training step on a batch; it gives the matched frames of each trajectory."""
    model = _model(size, seed)
    lengths: list[int] = x.lengths.tolist()

    def ours() -> Found:
        matched = match(Dynamics(model, LOSS), x, Greedy(horizon))
        _backward(model, matched.loss)
        return [row[row >= 0].tolist() for row in matched.matched]

    def theirs() -> Found:
        step = literal.gather_step if method == BASE else literal.published_step
        loss, found = step(model, x.frames, lengths, horizon)
        _backward(model, loss)
        return found

    return ours if method.startswith("mechlearn") else theirs


def _steps(track: Matched) -> list[Asked]:
    """Return a track step by step."""
    if track.predictions is None:
        raise ValueError("The track should hold its predictions. Found none. Match with keep_predictions=True.")
    asked: list[Asked] = []
    for u in range(track.skips.shape[1]):
        rows = [b for b in range(len(track.steps)) if u < track.steps[b]]
        times = [int(track.matched[b, u] - track.skips[b, u]) for b in rows]
        asked.append((track.predictions.frames[rows, u], rows, times))
    return asked


def _ways(steps: dict[str, Callable[[], Found]]) -> dict[str, Way]:
    return {name: Way(step, step()) for name, step in steps.items()}


def _model(size: Size, seed: int) -> HalfResolution:
    return HalfResolution(size.colours, Generator().manual_seed(seed))


def _backward(model: nn.Module, loss: Tensor) -> None:
    model.zero_grad()
    loss.backward()
