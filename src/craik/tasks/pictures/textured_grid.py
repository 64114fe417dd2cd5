"""A grid world whose levels look different and work alike: a stand-in for CoinRun that runs anywhere.

Every level has a layout and textures of its own (colours of floor and walls, a pattern on the floor); agent and goal look the
same everywhere, and movement is the same. The expert is exact: with d(s) the number of steps from s to the goal, pi*(a | s)
is proportional to exp(-d(s after a) / temperature).

The texts have no such world: it replaces CoinRun (thesis section 3.3.3) where the simulator is not at hand.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from numpy.random import Generator

from craik.tasks.pictures.cloning import Recording, States

_GOLD = np.array([255, 215, 0], dtype=np.uint8)

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Up, down, left, right: row and column; a move into a wall stays where it is."""


@dataclass(frozen=True)
class World:
    """What all levels share.

    Args:
        cells: of each side, the wall around included.
        pixels: of a cell's side.
        walls: share of the inner cells that are walls.
        temperature: of the expert, in steps.
    """

    cells: int = 7
    pixels: int = 3
    walls: float = 0.2
    temperature: float = 0.5

    def __post_init__(self) -> None:
        if self.cells < 5 or self.pixels < 2:
            raise ValueError(f"A world should have at least 5 cells a side, of 2 pixels. Found {self.cells} of {self.pixels}.")
        if not 0 <= self.walls < 0.6 or self.temperature <= 0:
            raise ValueError(
                "`walls` should be a share below 0.6 and `temperature` positive. "
                f"Found {self.walls:g} and {self.temperature:g}."
            )


class Level(NamedTuple):
    """One level's layout and looks.

    Attributes:
        walls: which cells are walls.
        goal: row and column.
        distance: steps to the goal, -1 where it cannot be reached.
        background: the level without the agent, height, width, RGB.
    """

    walls: Bool[np.ndarray, "g g"]
    goal: tuple[int, int]
    distance: Int[np.ndarray, "g g"]
    background: UInt8[np.ndarray, "h w 3"]


def level(number: int, world: World) -> Level:
    """Level `number`: the same for everyone, whatever was drawn before."""
    generator = np.random.default_rng([0x6C657665, number])  # levels are a stream of their own
    while True:
        walls = np.ones((world.cells, world.cells), dtype=bool)
        walls[1:-1, 1:-1] = generator.random((world.cells - 2, world.cells - 2)) < world.walls
        free = np.argwhere(~walls)
        if len(free) < 2:
            continue
        goal = (int(free[(pick := generator.integers(len(free)))][0]), int(free[pick][1]))
        distance = _distances(walls, goal)
        if (distance > 0).sum() >= (world.cells - 2) ** 2 // 3:  # a goal in a closed corner makes no level
            return Level(walls, goal, distance, _painted(walls, goal, world, generator))


def policy(level: Level, row: int, column: int, world: World) -> Float[np.ndarray, " 4"]:
    """The expert's pi*(a | s) for an agent at (row, column)."""
    after = np.array([level.distance[_after(level.walls, (row, column), action)] for action in range(len(MOVES))])
    weights = np.exp(-(after - after.min()) / world.temperature)
    return weights / weights.sum()


def frame(level: Level, row: int, column: int, world: World) -> UInt8[np.ndarray, "h w 3"]:
    """The level with the agent at (row, column): a white square with a black hole."""
    image, p = level.background.copy(), world.pixels
    image[row * p : (row + 1) * p, column * p : (column + 1) * p] = 255
    image[row * p + p // 2, column * p + p // 2] = 0
    return image


class TexturedGrid(gymnasium.Env[np.ndarray, np.int64]):
    """The world as a Gymnasium environment; `reset(options={"level": 3})` names a level.

    An episode ends at the goal with reward 1; any other step is worth 0.
    """

    def __init__(self, world: World | None = None, levels: int = 64) -> None:
        self.world, self.levels = world or World(), levels
        side = self.world.cells * self.world.pixels
        self.observation_space = gymnasium.spaces.Box(0, 255, (side, side, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a random level, or the one that is named, at a random cell from which the goal can be reached."""
        super().reset(seed=seed)
        number = (options or {}).get("level")
        self.number = int(self.np_random.integers(self.levels)) if number is None else int(number)
        self.level = level(self.number, self.world)
        starts = np.argwhere(self.level.distance > 0)
        self.row, self.column = (int(index) for index in starts[self.np_random.integers(len(starts))])
        return frame(self.level, self.row, self.column, self.world), {"level": self.number}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Move; a wall stops the move."""
        self.row, self.column = _after(self.level.walls, (self.row, self.column), int(action))
        done = (self.row, self.column) == self.level.goal
        return frame(self.level, self.row, self.column, self.world), float(done), done, False, {"level": self.number}


def recording(
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

    Raises:
        ValueError: a count below 1.
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
            row, column = _after(where.walls, (row, column), action)
        found.append(path[generator.integers(len(path))])
    return found


def _after(walls: np.ndarray, position: tuple[int, int], action: int) -> tuple[int, int]:
    row, column = position[0] + MOVES[action][0], position[1] + MOVES[action][1]
    return position if walls[row, column] else (row, column)


def _distances(walls: np.ndarray, goal: tuple[int, int]) -> np.ndarray:
    distance, queue = np.full(walls.shape, -1), deque([goal])
    distance[goal] = 0
    while queue:
        position = queue.popleft()
        for action in range(len(MOVES)):
            near = _after(walls, position, action)
            if distance[near] < 0:
                distance[near] = distance[position] + 1
                queue.append(near)
    return distance


def _colour(generator: Generator) -> np.ndarray:
    return generator.integers(0, 256, 3).astype(np.uint8)


def _painted(walls: np.ndarray, goal: tuple[int, int], world: World, generator: Generator) -> np.ndarray:
    """Floor with a pattern, walls, and the goal: a golden cross."""
    p, side = world.pixels, world.cells * world.pixels
    floor, stripe, wall = (_colour(generator) for _ in range(3))
    period, slope = generator.integers(2, 7), generator.integers(-2, 3)
    rows, columns = np.mgrid[:side, :side]
    pattern = ((rows * slope + columns) // period) % 2 == 0
    image = np.where(pattern[..., None], floor, (floor.astype(int) * 3 + stripe) // 4).astype(np.uint8)
    image[np.kron(walls, np.ones((p, p), dtype=bool))] = wall
    top, left, middle = goal[0] * p, goal[1] * p, p // 2
    image[top + middle, left : left + p] = _GOLD
    image[top : top + p, left + middle] = _GOLD
    return image
