"""States of four numbers: a training step by evaluations of the model, and roll-outs by frames.

Nothing but the network and the matching is here to pay for, so that what matching costs shows: pictures hide it.
"""

import importlib.util
from collections.abc import Callable
from typing import NamedTuple

import torch
from mechlearn_zoo_benchmarks.measuring.timing import Step
from torch import Generator, nn

from mechlearn.losses import SquaredError
from mechlearn.nn.perceptrons import mlp
from mechlearn.skips import Aligned, Dynamics, Fixed, Greedy, Matching, SoftAligned, displacement, match, rollout
from mechlearn.trajectories import Trajectories

BATCH, TIME, SIZE = 32, 33, 4
HORIZON = 8
FRAMES = (250, 500, 1000)
"""Of roll-outs."""


class Spent(NamedTuple):
    """A step, and how many evaluations, or frames, it is paid for."""

    step: Step
    count: int


class Residual(nn.Module):
    """x + net(x), so small a step that a roll-out stays where it is."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        super().__init__()
        self.net = mlp(SIZE, SIZE, Generator().manual_seed(seed), 64, 2)
        self.scale = scale

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the coming states."""
        return states + self.scale * self.net(states)


def walks(seed: int) -> Trajectories:
    """Return 32 random walks of 33 frames."""
    steps = 0.1 * torch.randn(BATCH, TIME, SIZE, generator=Generator().manual_seed(seed))
    return Trajectories(steps.cumsum(1), torch.full((BATCH,), TIME))


def alignments(seed: int) -> dict[str, Spent]:
    """Return a training step that aligns whole trajectories; soft-DTW as tslearn has it, where it is installed.

    Times alone compare: soft-DTW lets each prediction match several frames and each frame several predictions and leaves none
    out, where ours goes on by 1 to H frames and costs what its steps cost.
    """
    data, horizon = walks(seed), HORIZON
    ways = {
        "mechlearn, Aligned, H = 8": _stepping(data, Aligned(horizon), seed),
        "mechlearn, SoftAligned, H = 8": _stepping(data, SoftAligned(horizon, 0.1), seed),
    }
    if importlib.util.find_spec("tslearn") is not None:
        ways["soft-DTW, tslearn"] = Spent(_soft_dtw(data, seed), 1)
    return {name: way._replace(count=1) for name, way in ways.items()}


def _soft_dtw(data: Trajectories, seed: int) -> Step:
    from tslearn.metrics import SoftDTWLossPyTorch  # noqa: PLC0415  # pyright: ignore[reportMissingImports]  # a peer

    model, frames = Residual(seed), data.values()
    loss = SoftDTWLossPyTorch(gamma=0.1)

    def step() -> None:
        model.zero_grad()
        loss(model(frames[:, :-1]), frames[:, 1:]).mean().backward()

    step()  # numba compiles
    return step


def vectors(seed: int) -> dict[str, Spent]:
    """Return a training step of each matching on a batch of 32 trajectories of 33 frames; steps of 1 come first."""
    data = walks(seed)
    matchings: dict[str, Matching] = {
        "fixed step of 1": Fixed(1),
        f"mechlearn, H = {HORIZON}": Greedy(HORIZON),
        f"mechlearn, H = {HORIZON}, relative": Greedy(HORIZON, 0.0, displacement(data, HORIZON)),
    }
    return {name: _stepping(data, matching, seed) for name, matching in matchings.items()}


def _stepping(data: Trajectories, matching: Matching, seed: int) -> Spent:
    model = Residual(seed)
    dynamics = Dynamics(model, SquaredError(), feedback=torch.detach)

    def step() -> int:
        model.zero_grad()
        matched = match(dynamics, data, matching, generator=Generator().manual_seed(seed))
        matched.loss.backward()
        return matched.evaluations

    return Spent(_silent(step), step())


def rollouts(seed: int, small: bool) -> dict[str, Spent]:
    """Return roll-outs of 32 trajectories by their length; the shortest comes first."""
    dynamics = Dynamics(Residual(seed, 1e-3), SquaredError())
    first = torch.randn(BATCH, SIZE, generator=Generator().manual_seed(seed))

    def rolled(frames: int) -> Step:
        return _silent(lambda: rollout(dynamics, first, max_steps=frames))

    lengths = [frames // 50 for frames in FRAMES] if small else FRAMES
    return {f"{frames} frames": Spent(rolled(frames), frames) for frames in lengths}


def _silent(step: Callable[[], object]) -> Step:
    def taken() -> None:
        step()

    return taken
