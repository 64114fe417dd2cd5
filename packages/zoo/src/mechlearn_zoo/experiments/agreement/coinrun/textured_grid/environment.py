"""The grid world to play in, as a Gymnasium environment."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np

from mechlearn.arguments import check_whole
from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.levels import MOVES, World, frame, level, moved


class TexturedGrid(gymnasium.Env[np.ndarray, np.int64]):
    """The world as a Gymnasium environment; `reset(options={"level": 3})` names a level.

    An episode ends at the goal with reward 1; any other step is worth 0.

    Raises:
        TypeError: a number of levels that is not whole.
        ValueError: no level.
    """

    def __init__(self, world: World | None = None, levels: int = 64) -> None:
        check_whole("levels", levels, 1)
        self.world, self.levels = world or World(), levels
        side = self.world.cells * self.world.pixels
        self.observation_space = gymnasium.spaces.Box(0, 255, (side, side, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a random level, or the one that is named, at a random cell from which the goal can be reached."""
        super().reset(seed=seed)
        number = (options or {}).get("level")
        if number is not None:
            check_whole("level", number)
        self.number = int(self.np_random.integers(self.levels)) if number is None else int(number)
        self.level = level(self.number, self.world)
        starts = np.argwhere(self.level.distance > 0)
        self.row, self.column = (int(index) for index in starts[self.np_random.integers(len(starts))])
        return frame(self.level, self.row, self.column, self.world), {"level": self.number}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Move; a wall stops the move."""
        try:
            move = operator.index(action)
        except TypeError:
            move = -1
        if not 0 <= move < len(MOVES):
            raise ValueError(f"`action` should be 0, 1, 2 or 3: up, down, left, right. Found {action!r}.")
        if not hasattr(self, "level"):
            raise RuntimeError("An episode should begin before a step. Found none. Call reset() first.")
        self.row, self.column = moved(self.level.walls, (self.row, self.column), move)
        done = (self.row, self.column) == self.level.goal
        return frame(self.level, self.row, self.column, self.world), float(done), done, False, {"level": self.number}
