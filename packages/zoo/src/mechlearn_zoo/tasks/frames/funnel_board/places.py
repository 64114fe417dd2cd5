"""The Funnel board's ball as place codes: how near it is to each of some columns and rows, now and one frame before.

They are to a picture of the ball what its margins are: numbers in [0, 1] under a cross-entropy, where a blurred prediction is
faint, and few enough for a small network on one core. What stands still is the board's layout as numbers, given beside them.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mechlearn.trajectories import Trajectories
from mechlearn_zoo.tasks import caching
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.corruption import Corruption
from mechlearn_zoo.tasks.frames.episodes import Episodes
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.generation import progress_bar

Boards = Episodes[FunnelBoardSettings]

PER_UNIT = 2
"""Places in one world unit; a place's width is that of one."""

FAINT = 0.2
"""A ball whose brightest column or row is no brighter than this has vanished."""

_AROUND = 2
"""How many places on either side of the brightest say where the ball is."""


class Places(NamedTuple):
    """Columns and rows, by their centres in world units."""

    columns: Float[Tensor, " columns"]
    rows: Float[Tensor, " rows"]

    @classmethod
    def of(cls, board: FunnelBoardSettings) -> "Places":
        """Return those of a board."""
        sides = (board.geometry.half_width, board.geometry.half_height)
        return cls(*(torch.linspace(-side, side, round(2 * side * PER_UNIT)) for side in sides))

    def frames(self, path: Float[np.ndarray, "time 2"]) -> Float[Tensor, "time codes"]:
        """Return a ball's path as frames; before the first it was where it starts."""
        places = torch.as_tensor(path, dtype=torch.float32)
        codes = torch.cat([_code(places[:, :1], self.columns), _code(places[:, 1:], self.rows)], dim=1)
        return torch.cat([codes, torch.cat([codes[:1], codes[:-1]])], dim=1)

    def found(self, frames: Float[Tensor, "n codes"]) -> Float[Tensor, "3 n"]:
        """Return where the ball is, x and y, and how bright."""
        width = len(self.columns)
        x, bright = _peak(frames[:, :width], self.columns)
        y, high = _peak(frames[:, width : width + len(self.rows)], self.rows)
        return torch.stack([x, y, torch.minimum(bright, high)])


class Reader(NamedTuple):
    """Reads off a frame whether the ball has landed, and on which platform; perfect on true frames (a test)."""

    places: Places
    floor: float
    platforms: int

    def landed(self, frames: Float[Tensor, "n codes"]) -> Bool[Tensor, " n"]:
        """Say where a ball that can be seen lies on the floor."""
        _, y, bright = self.places.found(frames)
        return (y < self.floor) & (bright > FAINT)

    def platform(self, frames: Float[Tensor, "n codes"]) -> Int[Tensor, " n"]:
        """Return the platform below each ball."""
        half = float(self.places.columns[-1])
        x = self.places.found(frames)[0]
        return ((x + half) / (2 * half) * self.platforms).floor().clamp(0, self.platforms - 1).long()


def reader(board: FunnelBoardSettings, ends: Float[np.ndarray, "n 2"]) -> Reader:
    """Return the reader of a board, on whose floor balls come to rest at such places."""
    return Reader(Places.of(board), float(ends[:, 1].max()) + 0.3, board.geometry.platforms)


class Data(NamedTuple):
    """Trajectories with what stands still beside them."""

    frames: Trajectories
    layouts: Tensor


def draw_boards(board: FunnelBoardSettings, count: int, seed: int, cache: str) -> Boards:
    """Draw boards and the falls of their balls, or read them from a folder, mechlearn's own if empty."""
    folder = Path(cache) if cache else caching.default_folder()
    bar = progress_bar("simulating boards") if sys.stderr.isatty() else None
    return funnel_board.generate(count, seed, board, cache=folder, on_progress=bar)


def recorded(boards: Boards, places: Places, corruption: Corruption, generator: np.random.Generator) -> Data:
    """Return episodes as they were recorded, or corrupted."""
    found: list[Tensor] = []
    for path in boards.paths:
        frames = places.frames(corruption.played(path, generator))
        hit = torch.from_numpy(corruption.hit(len(frames), generator))
        if corruption.kind == "noise":
            frames[hit] = torch.from_numpy(generator.random((int(hit.sum()), frames.shape[1]))).float()
        found.append(frames[~hit] if corruption.kind == "missing" else frames)
    return Data(Trajectories.from_list(found), torch.from_numpy(boards.layouts).float())


def _code(at: Float[Tensor, "time 1"], centres: Float[Tensor, " places"]) -> Float[Tensor, "time places"]:
    return torch.exp(-(((at - centres) * PER_UNIT) ** 2))


def _peak(code: Float[Tensor, "n places"], centres: Float[Tensor, " places"]) -> tuple[Tensor, Tensor]:
    brightest, at = code.max(1, keepdim=True)
    near = code * ((torch.arange(code.shape[1]) - at).abs() <= _AROUND)
    return (near * centres).sum(1) / near.sum(1).clamp(min=1e-6), brightest[:, 0]
