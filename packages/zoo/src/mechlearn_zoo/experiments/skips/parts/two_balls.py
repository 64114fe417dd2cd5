"""Two balls that fall through one Funnel board at once, each at the pace that its funnels give it; they do not touch."""

from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.trajectories import Trajectories
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.funnel_board.geometry import layout_vector, places, sample_board
from mechlearn_zoo.tasks.frames.funnel_board.physics import simulate
from mechlearn_zoo.tasks.frames.funnel_board.places import Places
from mechlearn_zoo.tasks.generation import Rejected, draw_many

World = Literal["two", "twins"]
"""Two balls from two places, or the same ball twice, which keeps step with itself."""


class Pair(NamedTuple):
    """A board as numbers, two falls through it, and where they end."""

    layout: Float[np.ndarray, " layout"]
    paths: tuple[Float[np.ndarray, "_ 2"], Float[np.ndarray, "_ 2"]]
    labels: tuple[int, int]


class Falls(NamedTuple):
    """Episodes of two balls: frames (batch, time, 2 codes), layouts, labels (batch, 2), and how high a ball lies at most."""

    frames: Trajectories
    layouts: Float[Tensor, "batch layout"]
    labels: Int[Tensor, "batch 2"]
    floor: float


def draw(settings: FunnelBoardSettings, world: World, count: int, seed: int) -> Falls:
    """Draw episodes; the ball that lands first lies where it is until the other has landed.

    Args:
        settings: of the board.
        world: whether there are two balls or twins.
        count: of episodes.
        seed: of all of them.
    """
    pairs = draw_many(partial(_sample, settings, world), count, seed).items
    own = Places.of(settings)
    frames: list[Tensor] = []
    for pair in pairs:
        time = max(map(len, pair.paths))
        held = [np.concatenate([path, np.repeat(path[-1:], time - len(path), axis=0)]) for path in pair.paths]
        frames.append(torch.cat([own.frames(path) for path in held], dim=1))
    return Falls(
        Trajectories.from_list(frames),
        torch.from_numpy(np.stack([pair.layout for pair in pairs])),
        torch.tensor([pair.labels for pair in pairs]),
        max(float(path[-1, 1]) for pair in pairs for path in pair.paths),
    )


def _sample(settings: FunnelBoardSettings, world: World, generator: np.random.Generator) -> Pair | Rejected:
    board = sample_board(settings, generator)
    boards = [board, board]
    if world == "two":
        top = [x for row, _, x in places(settings.geometry) if row == settings.geometry.rows and x != board.start[0]]
        boards[1] = board._replace(start=(top[int(generator.integers(len(top)))], board.start[1]))
    falls = [simulate(settings, each) for each in boards]
    for fall in falls:
        if isinstance(fall, Rejected):
            return fall
    first, second = (fall for fall in falls if not isinstance(fall, Rejected))
    return Pair(layout_vector(settings, board), (first.positions, second.positions), (first.platform, second.platform))
