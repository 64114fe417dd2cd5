"""Levels: what all share, the layout and looks of one, its exact expert, its pictures."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy.random import Generator

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
    after = np.array([level.distance[moved(level.walls, (row, column), action)] for action in range(len(MOVES))])
    weights = np.exp(-(after - after.min()) / world.temperature)
    return weights / weights.sum()


def frame(level: Level, row: int, column: int, world: World) -> UInt8[np.ndarray, "h w 3"]:
    """The level with the agent at (row, column): a white square with a black hole."""
    image, p = level.background.copy(), world.pixels
    image[row * p : (row + 1) * p, column * p : (column + 1) * p] = 255
    image[row * p + p // 2, column * p + p // 2] = 0
    return image


def moved(walls: np.ndarray, position: tuple[int, int], action: int) -> tuple[int, int]:
    """Where an action leads from a position."""
    row, column = position[0] + MOVES[action][0], position[1] + MOVES[action][1]
    return position if walls[row, column] else (row, column)


def _distances(walls: np.ndarray, goal: tuple[int, int]) -> np.ndarray:
    distance, queue = np.full(walls.shape, -1), deque([goal])
    distance[goal] = 0
    while queue:
        position = queue.popleft()
        for action in range(len(MOVES)):
            near = moved(walls, position, action)
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
