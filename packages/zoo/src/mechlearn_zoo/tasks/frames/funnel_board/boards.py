"""Boards, the falls of their balls, and the platform reached as the label, 0 at the left: the Funnel board as a simulation."""

import numpy as np
from jaxtyping import Int, Shaped

from mechlearn_zoo.tasks.frames.episodes import Episode, Simulation
from mechlearn_zoo.tasks.frames.funnel_board import labels, rendering
from mechlearn_zoo.tasks.frames.funnel_board.geometry import layout_vector, sample_board
from mechlearn_zoo.tasks.frames.funnel_board.physics import simulate
from mechlearn_zoo.tasks.frames.funnel_board.presets import PUBLISHED, FunnelBoardSettings
from mechlearn_zoo.tasks.generation import Rejected

VERSION = 1
"""Of what is drawn. Raise it when the same seed gives other episodes, whether by physics, geometry, pictures or the order of
random draws, here, in `mechlearn_zoo.tasks.frames.drawing` or in `mechlearn_zoo.tasks.generation`: files of older versions are
then left."""


def sample(settings: FunnelBoardSettings, generator: np.random.Generator) -> Episode | Rejected:
    """Draw a board and drop a ball on it."""
    board = sample_board(settings, generator)
    fall = simulate(settings, board)
    if isinstance(fall, Rejected):
        return fall
    return Episode(rendering.draw_board(settings, board), layout_vector(settings, board), fall.positions, fall.platform)


def _read(
    ball: Shaped[np.ndarray, "n height width"], images: Shaped[np.ndarray, "n 3 height width"], settings: FunnelBoardSettings
) -> Int[np.ndarray, " n"]:
    """Read labels; platforms are where they always are, so the board's picture is not looked at."""
    del images
    return labels.read_frames(ball, settings)


FUNNEL_BOARD = Simulation(
    name="funnel-board",
    version=VERSION,
    published=PUBLISHED,
    sample=sample,
    draw_frames=rendering.draw_frames,
    draw_moving=rendering.draw_moving,
    find=labels.ball_in_pixels,
    read=_read,
)
"""Moving parts are the ball and, in a second channel, its trace."""
