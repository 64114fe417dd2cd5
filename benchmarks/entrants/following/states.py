"""States of four numbers: a training step by evaluations of the model, and roll-outs by frames.

Nothing but the network and the matching is here to pay for, so that what matching costs shows: pictures hide it.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from craik_benchmarks.measuring.timing import Step
from torch import Generator, nn

from craik.losses import SquaredError
from craik.nn.perceptrons import mlp
from craik.skips import Dynamics, Fixed, Greedy, Matching, displacement, match, rollout
from craik.trajectories import Trajectories

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


def vectors(seed: int) -> dict[str, Spent]:
    """Return a training step of each matching on a batch of 32 trajectories of 33 frames; steps of 1 come first."""
    steps = 0.1 * torch.randn(BATCH, TIME, SIZE, generator=Generator().manual_seed(seed))
    data = Trajectories(steps.cumsum(1), torch.full((BATCH,), TIME))
    matchings: dict[str, Matching] = {
        "fixed step of 1": Fixed(1),
        f"craik, H = {HORIZON}": Greedy(HORIZON),
        f"craik, H = {HORIZON}, relative": Greedy(HORIZON, 0.0, displacement(data, HORIZON)),
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
