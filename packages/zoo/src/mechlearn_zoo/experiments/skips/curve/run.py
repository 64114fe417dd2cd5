"""Networks that step a ball by different numbers of frames, and how far off they are at the same time ahead.

For each step length a network of its own learns where the ball will be that many frames later, from how it moves and from a
view of the board around it. Applied again and again, all reach the same time ahead: with many short steps, each of which adds
its error, or with few long ones, each of which is harder to predict. If there is a best length, it lies inside; and it may be
another one for a ball that falls than for one that bounces in a funnel.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from jaxtyping import Float
from torch import Tensor

from claimlab import EarlyStopping, Positive, Preset, Row, check_limits
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.skips.comparing.training import Size
from mechlearn_zoo.experiments.skips.curve.ball_motion import STATES, Step, inputs, padded_obstacles, transitions
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks import caching
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.episodes import Episodes
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.streams import stream

LOOKS = 10
"""How often a training is looked at: by roll-outs on as many validation boards as test boards."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 0
    """First seed: of the boards, the initial weights and the batches."""
    skips: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (1, 2, 3, 4, 6, 8, 12, 24)
    """Frames in a step, each with a network of its own."""
    ahead: Annotated[int, Ge(1)] = 24
    """The time at which errors are measured, in frames; every step length divides it."""
    size: Size = "small"
    """Named settings of the Funnel board."""
    episodes: Annotated[int, Ge(1)] = 600
    """Boards to train on."""
    test_episodes: Annotated[int, Ge(1)] = 200
    """Boards on which errors are measured."""
    hidden: Annotated[int, Ge(1)] = 128
    """Units in each of the two hidden layers."""
    steps: Annotated[int, Ge(1)] = 1500
    """Training steps of each network."""
    batch: Annotated[int, Ge(1)] = 256
    """Transitions of a step."""
    learning_rate: Positive = 2e-3
    """Adam's, falling to 0 along a cosine."""
    cache: str = ""
    """Folder that keeps the boards; mechlearn's folder in the user's cache if empty."""

    def __post_init__(self) -> None:
        check_limits(self)
        if any(self.ahead % skip for skip in self.skips):
            raise ValueError(f"skips should divide the {self.ahead} frames ahead. Found {self.skips}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(size="published", episodes=5000, test_episodes=500, hidden=256, steps=20_000), seeds=8),
}


def run(config: Config) -> Iterator[Row]:
    """Train a network for each step length; yield its error after one step and at the same time ahead, by state.

    Both at the end of its training and, as `stopped_...`, where its error at that time was least on validation boards.
    """
    settings, folder = funnel_board.PRESETS[config.size], Path(config.cache) if config.cache else caching.default_folder()
    own, apart = 1000 + 2 * config.seed, stream(config.seed, "validation").initial_seed()
    boards, test, validation = (
        funnel_board.generate(count, seed, settings, cache=folder)
        for count, seed in ((config.episodes, own), (config.test_episodes, own + 1), (config.test_episodes, apart))
    )
    for skip in config.skips:
        step, best, stopping = train(config, boards, skip, validation)
        ended, stopped = (judged(config, one, test, skip) for one in (step, best))
        for state in STATES:
            row: Row = {"skip": skip, "state": state, **ended[state]}
            yield row | stopping.row | {f"stopped_{name}": value for name, value in stopped[state].items() if name != "starts"}


def judged(config: Config, step: Step, test: Episodes[FunnelBoardSettings], skip: int) -> dict[str, Row]:
    """Return a network's mean errors on test boards by state, after one step and at the same time ahead."""
    once, ahead = (errors(step, test, skip, times) for times in (1, config.ahead // skip))
    found: dict[str, Row] = {}
    for state in STATES:
        mean = float(ahead[state].mean())
        found[state] = {"error": mean, "rate": mean / config.ahead, "starts": len(ahead[state])}
        found[state]["step_rate"] = float(once[state].mean()) / skip
    return found


def errors(step: Step, boards: Episodes[FunnelBoardSettings], skip: int, times: int) -> dict[str, Float[Tensor, " starts"]]:
    """Return how far off a ball is predicted after some steps, in world units, by the state that it starts from."""
    scale, radius = boards.settings.recording.pixels_per_unit, boards.settings.geometry.ball_radius
    start, end = transitions(boards, skip * times)
    motion, obstacles = start, padded_obstacles(boards)
    for _ in range(times):
        motion = step(obstacles, motion)
    error = (motion.position - end.position).norm(dim=1) / scale
    slow = start.change.norm(dim=1) < radius * scale
    return {"slow": error[slow], "fast": error[~slow]}


def train(
    config: Config, boards: Episodes[FunnelBoardSettings], skip: int, validation: Episodes[FunnelBoardSettings]
) -> tuple[Step, Step, EarlyStopping]:
    """Train a network to predict a ball's motion a step later.

    Returns:
        It at its end; as it was where the mean error of roll-outs on validation boards was least; when that was.
    """
    generator = torch.Generator().manual_seed(config.seed + 1000 * skip)
    before, after = transitions(boards, skip)
    obstacles = padded_obstacles(boards)
    target = torch.cat([after.position - before.position, after.change], dim=1)
    step = Step(mlp(inputs(obstacles, before, slice(0, 1)).shape[1], 4, generator, config.hidden, 2), target.std(dim=0) + 1e-3)
    optimizer = torch.optim.Adam(step.network.parameters(), lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    best, stopping = step, EarlyStopping(LOOKS, "lowest")
    for done in range(1, config.steps + 1):
        rows = torch.randint(len(target), (config.batch,), generator=generator)
        predicted = step.network(inputs(obstacles, before, rows))
        descend(optimizer, (predicted - target[rows] / step.scale).square().mean(), scheduler)
        if stopping.due(share := done / config.steps):
            found = torch.cat(list(errors(step, validation, skip, config.ahead // skip).values()))
            if stopping.improves(float(found.mean())):
                best = replace(step, network=copy.deepcopy(step.network))
            stopping.look(share, float(found.mean()), {})
    return step, best, stopping
