"""The expert's play, recorded: states with its action probabilities on levels for training, validation and test."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import Generator

from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.levels import MOVES, Level, World, frame, level, moved, policy
from mechlearn_zoo.tasks.pictures.cloning import Recording, States


def record(
    seed: int, world: World | None = None, levels: int = 64, states: int = 64, validation: int = 500, test: int = 1000
) -> Recording:
    """Record the expert on training levels and, one state each, on others.

    Args:
        seed: of the choice of levels and of the expert's trajectories.
        world: what the levels share.
        levels: training levels.
        states: of each.
        validation: levels for selecting settings.
        test: levels for reporting.
    """
    world = world or World()
    counts = {"levels": levels, "states": states, "validation": validation, "test": test}
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"`{name}` should be at least 1. Found {count}.")
    generator = np.random.default_rng(seed)
    numbers = generator.choice(10_000_000, size=levels + validation + test, replace=False)
    parts = np.split(numbers, [levels, levels + validation])
    train, held_out, unseen = (
        _states(part, count, world, generator) for part, count in zip(parts, (states, 1, 1), strict=True)
    )
    about = {"source": "grid world with textures", "seed": str(seed), "expert": "shortest paths", "world": repr(world)}
    return Recording(train, held_out, unseen, about)


def _states(numbers: np.ndarray, count: int, world: World, generator: Generator) -> States:
    frames, policies, levels = list[np.ndarray](), list[np.ndarray](), list[int]()
    for number in numbers:
        where = level(int(number), world)
        for row, column in _visited(where, count, world, generator):
            frames.append(frame(where, row, column, world))
            policies.append(policy(where, row, column, world))
            levels.append(int(number))
    policy_rows = torch.from_numpy(np.stack(policies)).float()
    return States(torch.from_numpy(np.stack(frames)), policy_rows, torch.tensor(levels))


def _visited(where: Level, count: int, world: World, generator: Generator) -> list[tuple[int, int]]:
    """`count` positions on the expert's trajectories, each from a trajectory of its own and uniform along it."""
    starts, found = np.argwhere(where.distance > 0), list[tuple[int, int]]()
    for _ in range(count):
        row, column = (int(index) for index in starts[generator.integers(len(starts))])
        path = list[tuple[int, int]]()
        while (row, column) != where.goal:
            path.append((row, column))
            action = int(generator.choice(len(MOVES), p=policy(where, row, column, world)))
            row, column = moved(where.walls, (row, column), action)
        found.append(path[generator.integers(len(path))])
    return found
