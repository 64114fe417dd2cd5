"""How a ball moves on its Funnel board, without pictures: positions in pixels, what a network sees of the board, a step.

Index conventions: n runs over moments of balls; x to the right and y down, in pixels, as in the picture.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mechlearn_zoo.tasks.frames.episodes import Episodes
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.funnel_board.rendering import to_pixels

STATES = {"slow": "bouncing and rolling", "fast": "falling"}
"""The ball's states, by how far it moved in the last frame: less than its radius, or more."""

VIEW = (6, 14, 8)
"""Pixels of the board that a network sees above, below and to either side of the ball."""


class Motion(NamedTuple):
    """Balls n, each on its board: where they are and how far they moved in the last frame, in pixels."""

    boards: Int[Tensor, " n"]
    position: Float[Tensor, "n 2"]
    change: Float[Tensor, "n 2"]


@dataclass(frozen=True, eq=False)
class Step:
    """A trained network and the scale of what it predicts: the change of position, and the last frame's change."""

    network: nn.Module
    scale: Float[Tensor, " 4"]

    @torch.no_grad()
    def __call__(self, obstacles: Float[Tensor, "boards height width"], motion: Motion) -> Motion:
        """Return the motion a step later."""
        predicted = self.network(inputs(obstacles, motion, slice(None))) * self.scale
        return Motion(motion.boards, motion.position + predicted[:, :2], predicted[:, 2:])


def padded_obstacles(boards: Episodes[FunnelBoardSettings]) -> Float[Tensor, "boards height width"]:
    """Return how dark each pixel of the boards is, with as much white around them as a view may reach."""
    dark = 1 - torch.from_numpy(boards.images).float().mean(dim=1) / 255
    above, below, beside = VIEW
    return nn.functional.pad(dark, (beside, beside, above, below))


def inputs(
    obstacles: Float[Tensor, "boards height width"], motion: Motion, rows: slice | Int[Tensor, " b"]
) -> Float[Tensor, "b inputs"]:
    """Return what a network sees: the board around the ball, the ball's place within its pixel, and its last change."""
    position, change, boards = motion.position[rows], motion.change[rows], motion.boards[rows]
    above, below, beside = VIEW
    height, width = obstacles.shape[1] - above - below, obstacles.shape[2] - 2 * beside
    column = position[:, 0].floor().clamp(0, width - 1)
    row = position[:, 1].floor().clamp(0, height - 1)
    y = row.long()[:, None, None] + torch.arange(above + below + 1)[:, None]
    x = column.long()[:, None, None] + torch.arange(2 * beside + 1)
    seen = obstacles[boards[:, None, None], y, x].flatten(1)
    within = position - torch.stack([column, row], dim=1)
    return torch.cat([seen, within, change / 2], dim=1)


def transitions(boards: Episodes[FunnelBoardSettings], skip: int) -> tuple[Motion, Motion]:
    """Return the motions before and after a step, for every frame but the first that has a frame so far ahead."""
    before, after = [list[tuple[np.ndarray, ...]](), list[tuple[np.ndarray, ...]]()]
    for index, path in enumerate(boards.paths):
        where = to_pixels(boards.settings, path)
        change = np.diff(where, axis=0, prepend=where[:1])
        count = max(0, len(path) - 1 - skip)
        at = np.full(count, index)
        before.append((at, where[1 : 1 + count], change[1 : 1 + count]))
        after.append((at, where[1 + skip :], change[1 + skip :]))
    return _stacked(before), _stacked(after)


def _stacked(parts: list[tuple[np.ndarray, ...]]) -> Motion:
    boards, position, change = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Motion(torch.from_numpy(boards), torch.from_numpy(position).float(), torch.from_numpy(change).float())
