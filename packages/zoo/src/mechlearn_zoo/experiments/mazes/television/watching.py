"""Episodes in a maze with a television: the maze as it is drawn here, and what walkers see, do and pass through."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Generator, Tensor

from claimlab import Limited
from mechlearn_zoo.experiments.mazes.television.television import Television, television
from mechlearn_zoo.learners.ppo import Walker
from mechlearn_zoo.methods.control import Rollout
from mechlearn_zoo.tasks.finite.mazes import maze

SIZE, LOOPS, FEATURES = 15, 5, 32
BRIGHT = 3.0
"""How much larger the numbers of a picture are than those of a texture."""


@dataclass(frozen=True)
class Settings(Limited):
    """Of the walkers."""

    seed: int = 100
    """First seed: of the maze, its textures and everything that is drawn."""
    walkers: Annotated[int, Ge(2)] = 32
    """Environments side by side."""
    steps: Annotated[int, Ge(2)] = 150
    """Of an episode."""
    rollouts: Annotated[int, Ge(5)] = 30
    """Episodes of every walker."""


def make_world(generator: Generator, on: bool) -> Television:
    """Draw a maze with a set in it, which may be off."""
    world = television(maze(SIZE, generator, loops=LOOPS), generator, on=on)
    return replace(world, pictures=BRIGHT * world.pictures)


def walk(model: Walker, world: Television, walkers: int, steps: int, generator: Generator) -> tuple[Rollout, Tensor]:
    """Return an episode of every walker, unpaid, and the cells (T + 1, B) it went through."""
    state = world.begin(walkers)
    cells, seen, acted, logs = [state.cells], [world.observe(state)], list[Tensor](), list[Tensor]()
    for _ in range(steps):
        actions, log_mu = model.act(seen[-1], generator)
        state = world.step(state, actions, generator)
        acted.append(actions)
        logs.append(log_mu)
        cells.append(state.cells)
        seen.append(world.observe(state))
    none = torch.zeros(steps, walkers, dtype=torch.bool)
    rollout = Rollout(torch.stack(seen), torch.stack(acted), torch.zeros(none.shape), none, none, torch.stack(logs))
    return rollout, torch.stack(cells)
