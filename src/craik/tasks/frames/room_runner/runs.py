"""Data sets of the Room runner: buildings, the runner's paths, labels; drawn as pictures when they are asked for."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from craik.tasks.frames.episodes import Episode, Episodes, draw_episodes
from craik.tasks.frames.room_runner import rendering
from craik.tasks.frames.room_runner.buildings import layout_vector, sample_building
from craik.tasks.frames.room_runner.physics import simulate
from craik.tasks.frames.room_runner.settings import PUBLISHED, RoomRunnerSettings
from craik.tasks.generation import OnProgress, Rejected


@dataclass(frozen=True, eq=False)
class RoomRuns(Episodes):
    """Buildings n and the walks of their runners. A label is the colour reached, 0 red or 1 blue.

    Attributes:
        settings: what they were drawn with.
    """

    settings: RoomRunnerSettings = PUBLISHED

    def pixels(self, index: int) -> UInt8[np.ndarray, "time 3 height width"]:
        """Draw one walk as RGB frames, as the thesis shows it."""
        return rendering.draw_frames(self.settings, self.images[index], self.paths[index])

    def moving(self, index: int) -> UInt8[np.ndarray, "time 1 height width"]:
        """Draw one walk's moving part alone, the runner; `images` holds what stands still."""
        return rendering.draw_moving(self.settings, self.paths[index])


def generate(
    count: int,
    seed: int,
    settings: RoomRunnerSettings = PUBLISHED,
    *,
    cache: Path | None = None,
    processes: int | None = 1,
    max_rejections: int = 200,
    on_progress: OnProgress | None = None,
) -> RoomRuns:
    """Draw buildings and let a runner walk through each.

    Args:
        count: number of accepted buildings.
        seed: of all of them; the same buildings come whatever the number of processes.
        settings: published size unless told otherwise.
        cache: folder that keeps the result, such as `craik.tasks.caching.default_folder()`; None keeps nothing.
        processes: how many draw at once; one a processor core if None.
        max_rejections: how often in a row a building may be rejected.
        on_progress: told after every building; `craik.tasks.generation.progress_bar` makes one.

    Raises:
        ImportError: pymunk is not installed and the buildings are not in the cache.
        RuntimeError: a building was rejected too often.
        ValueError: a count below 1 or a seed below 0.
    """
    drawn = draw_episodes(
        "room_runner",
        partial(_sample, settings),
        (settings,),
        count,
        seed,
        cache=cache,
        processes=processes,
        max_rejections=max_rejections,
        on_progress=on_progress,
    )
    return RoomRuns(**vars(drawn), settings=settings)


def _sample(settings: RoomRunnerSettings, generator: np.random.Generator) -> Episode | Rejected:
    building = sample_building(settings, generator)
    if isinstance(building, Rejected):
        return building
    path = simulate(settings, building, generator)
    if isinstance(path, Rejected):
        return path
    return Episode(rendering.draw_building(settings, building), layout_vector(building), path, building.label)
