"""Data sets of the Funnel board: boards, the paths of their balls, labels; drawn as pictures when they are asked for."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from craik.tasks.frames.episodes import Episode, Episodes, draw_episodes
from craik.tasks.frames.funnel_board import rendering
from craik.tasks.frames.funnel_board.geometry import layout_vector, sample_board
from craik.tasks.frames.funnel_board.physics import simulate
from craik.tasks.frames.funnel_board.settings import PUBLISHED, FunnelBoardSettings
from craik.tasks.generation import OnProgress, Rejected


@dataclass(frozen=True, eq=False)
class FunnelBoards(Episodes):
    """Boards n and the falls of their balls. A label is the platform reached, 0 at the left.

    Attributes:
        settings: what they were drawn with.
    """

    settings: FunnelBoardSettings = PUBLISHED

    def pixels(self, index: int) -> UInt8[np.ndarray, "time 3 height width"]:
        """Draw one fall as RGB frames, as the thesis shows it."""
        return rendering.draw_frames(self.settings, self.images[index], self.paths[index])

    def moving(self, index: int) -> UInt8[np.ndarray, "time 2 height width"]:
        """Draw one fall's moving parts alone, the ball and its trace; `images` holds what stands still."""
        return rendering.draw_moving(self.settings, self.paths[index])


def generate(
    count: int,
    seed: int,
    settings: FunnelBoardSettings = PUBLISHED,
    *,
    cache: Path | None = None,
    processes: int | None = 1,
    max_rejections: int = 200,
    on_progress: OnProgress | None = None,
) -> FunnelBoards:
    """Draw boards and drop a ball on each.

    Args:
        count: number of accepted boards.
        seed: of all of them; the same boards come whatever the number of processes.
        settings: published size unless told otherwise.
        cache: folder that keeps the result, such as `craik.tasks.caching.default_folder()`; None keeps nothing.
        processes: how many draw at once; one a processor core if None.
        max_rejections: how often in a row a board may be rejected.
        on_progress: told after every board; `craik.tasks.generation.progress_bar` makes one.

    Raises:
        ImportError: pymunk is not installed and the boards are not in the cache.
        RuntimeError: a board was rejected too often.
        ValueError: a count below 1 or a seed below 0.
    """
    drawn = draw_episodes(
        "funnel_board",
        partial(_sample, settings),
        (settings,),
        count,
        seed,
        cache=cache,
        processes=processes,
        max_rejections=max_rejections,
        on_progress=on_progress,
    )
    return FunnelBoards(**vars(drawn), settings=settings)


def _sample(settings: FunnelBoardSettings, generator: np.random.Generator) -> Episode | Rejected:
    board = sample_board(settings, generator)
    fall = simulate(settings, board)
    if isinstance(fall, Rejected):
        return fall
    return Episode(rendering.draw_board(settings, board), layout_vector(settings, board), fall.positions, fall.platform)
