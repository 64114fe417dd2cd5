"""The grid world to play in, as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from craik.tasks.pictures.textured_grid.levels import MOVES, World, frame, level, moved


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
        self.row, self.column = moved(self.level.walls, (self.row, self.column), int(action))
        done = (self.row, self.column) == self.level.goal
        return frame(self.level, self.row, self.column, self.world), float(done), done, False, {"level": self.number}
