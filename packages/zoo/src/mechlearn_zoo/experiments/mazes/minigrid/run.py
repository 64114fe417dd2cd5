"""PPO on a bonus alone in MiniGrid's rooms; the reward of the goal is logged and optimised by nobody.

All methods take the same number of steps (`budget`); episodes end at the goal or at MiniGrid's limit, and roll-outs go on
across them. As in the published code the end of an episode is hidden from the bonus's learner where `hidden` says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Generator, Tensor

from claimlab import Limited, Positive, Preset, Row, part
from mechlearn_zoo.experiments.mazes.minigrid.rooms import Rooms
from mechlearn_zoo.learners.bonuses import curiosity, losses_of
from mechlearn_zoo.learners.ppo import DISCOUNT, Walker, endless, update
from mechlearn_zoo.methods.control import RewardScale, collect, scaled

METHODS = ("none", "counts", "random", "inverse")
"""An agent that acts at random and does not learn; 1 for each cell that is new in the episode (an oracle); curiosity in random
features and in those of inverse dynamics."""
FEATURES = 64


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the rooms, the weights and the actions."""
    rooms: str = "MiniGrid-MultiRoom-N2-S4-v0"
    """A name that MiniGrid registers."""
    envs: Annotated[int, Ge(2)] = 16
    """Side by side."""
    steps: Annotated[int, Ge(2)] = 128
    """Of a roll-out in every environment."""
    rollouts: Annotated[int, Ge(5)] = 40
    """Updates of every method."""
    rate: Positive = 1e-3
    """Adam's learning rate."""
    hidden: bool = True
    """Whether the ends of episodes are hidden from the learner of the bonus: no value is cut there."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(rooms="MiniGrid-MultiRoom-N4-S5-v1", envs=128, rollouts=800, rate=1e-4), seeds=5),
}


def fresh(cells: Tensor, over: Tensor) -> Tensor:
    """Return (T, B) of 1.0 where a step came to a cell that is new in its episode, for cells (T + 1, B) and ends (T, B).

    A step that ends an episode counts as none: where it led is not known, the next episode stands there.
    """
    out, seen = torch.zeros(over.shape), [{cell} for cell in cells[0].tolist()]
    for t, (row, ends) in enumerate(zip(cells[1:].tolist(), over.tolist(), strict=True)):
        for b, (cell, ended) in enumerate(zip(row, ends, strict=True)):
            if ended:
                seen[b] = {cell}
            elif cell not in seen[b]:
                seen[b].add(cell)
                out[t, b] = 1
    return out


def train(config: Config, method: str) -> Iterator[Row]:
    """Yield reward, episodes that reached the goal, and new cells of every roll-out."""
    generator = Generator().manual_seed(config.seed)
    world = Rooms(config.rooms, config.envs)
    model = Walker(world.observation_shape[0], world.actions, generator)
    curious = (
        curiosity(method, world.observation_shape[0], world.actions, FEATURES, generator)
        if method in ("random", "inverse")
        else None
    )
    parameters = [*model.parameters(), *(curious.parameters() if curious else ())]
    optimizer = torch.optim.Adam([one for one in parameters if one.requires_grad], lr=config.rate)
    scale, start = RewardScale(torch.zeros(config.envs)), None
    for index in range(config.rollouts):
        cells = list[Tensor]()

        def act(observations: Tensor, source: Generator, cells: list[Tensor] = cells) -> tuple[Tensor, Tensor]:
            cells.append(world.cells)
            return model.act(observations, source)

        rollout = collect(world, act, config.steps, generator, start)
        start, over = rollout.observations[-1], rollout.terminated | rollout.truncated
        new = fresh(torch.stack([*cells, world.cells]), over)
        paid = new
        if curious:
            paid, scale = scaled(scale, curious.bonus(rollout.observations, rollout.actions), DISCOUNT)
        if method != "none":
            beside = losses_of(curious, rollout) if curious else None
            update(model, optimizer, endless(rollout) if config.hidden else rollout, paid.float(), generator, beside)
        episodes = max(1, int(over.sum()))
        yield {
            "method": method, "rollout": index, "budget": (index + 1) * over.numel(),
            "reached": float(rollout.terminated.sum()) / episodes, "reward": float(rollout.rewards.sum()) / episodes,
            "new": float(new.sum()) / episodes, "last": index >= config.rollouts - config.rollouts // 5,
        }  # fmt: skip


def run(config: Config) -> Iterator[Row]:
    """Yield every method's rows."""
    for method in METHODS:
        yield from part(method, train(config, method))
