"""Episodes of a simulated world: a still picture, the path of what moves in it, an outcome; drawn once and kept on disk.

What one world has of its own (its physics, its drawing, its reader) is a `Simulation`; the rest is here, for all of them.
Index conventions: n runs over episodes, time over frames from 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Int, Shaped, UInt8

from mechlearn_zoo.tasks import caching
from mechlearn_zoo.tasks.generation import Drawn, OnProgress, Rejected, draw_many

S = TypeVar("S")
"""A world's settings."""


class Episode(NamedTuple):
    """One episode: the picture without what moves, the layout as numbers, the path in world units, the outcome."""

    image: UInt8[np.ndarray, "3 height width"]
    layout: Float[np.ndarray, " layout"]
    path: Float[np.ndarray, "time 2"]
    label: int


@dataclass(frozen=True, eq=False)
class Episodes(Generic[S]):
    """Episodes of a world; pictures of what moves are drawn on demand, so that a data set stays small.

    Attributes:
        simulation: the world.
        settings: what they were drawn with.
        images: the pictures without what moves.
        layouts: the same as numbers.
        paths: for each episode the centre of what moves, in every frame, in world units.
        labels: the outcomes.
        rejections: how many draws were rejected for which reason.
    """

    simulation: "Simulation[S]"
    settings: S
    images: UInt8[np.ndarray, "n 3 height width"]
    layouts: Float[np.ndarray, "n layout"]
    paths: tuple[Float[np.ndarray, "_ 2"], ...]
    labels: Int[np.ndarray, " n"]
    rejections: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.paths)

    def pixels(self, index: int) -> UInt8[np.ndarray, "time 3 height width"]:
        """Draw one episode as RGB frames, as the thesis shows it."""
        return self.simulation.draw_frames(self.settings, self.images[index], self.paths[index])

    def moving(self, index: int) -> UInt8[np.ndarray, "time channels height width"]:
        """Draw one episode's moving parts alone; `images` holds what stands still."""
        return self.simulation.draw_moving(self.settings, self.paths[index])

    def states(self, index: int) -> Float[np.ndarray, "time state"]:
        """Return one episode as state vectors without pixels: x, y, their change since the last frame, the layout."""
        path = self.paths[index]
        change = np.diff(path, axis=0, prepend=path[:1])
        layout = np.broadcast_to(self.layouts[index], (len(path), self.layouts.shape[1]))
        return np.concatenate([path, change, layout], axis=1).astype(np.float32)

    def read_pixels(self, frames: Shaped[np.ndarray, "b 3 height width"], rows: Int[np.ndarray, " b"]) -> Int[np.ndarray, " b"]:
        """Return the label that each RGB frame of the given episodes shows, `reading.NOTHING` for none."""
        return self.simulation.read(self.simulation.find(frames), self.images[rows], self.settings)

    def read_moving(
        self, frames: Shaped[np.ndarray, "b channels height width"], rows: Int[np.ndarray, " b"]
    ) -> Int[np.ndarray, " b"]:
        """Return the same of frames that show the moving parts alone."""
        return self.simulation.read(frames[:, 0], self.images[rows], self.settings)


@dataclass(frozen=True)
class Simulation(Generic[S]):
    """What a world has of its own; each function takes the world's settings.

    Attributes:
        name: of the world; cached files are named after it.
        version: of what the draws are, raised by whoever changes them: files of another version are not read.
        published: the settings of the texts.
        sample: draws one episode, or says why the draw may not be used; picklable, as several processes may draw.
        draw_frames: from a still picture and a path to RGB frames.
        draw_moving: from a path to frames of what moves alone; its first channel is what `read` looks at.
        find: how much each pixel of RGB frames looks like what moves.
        read: the label that frames show, from what moves (n, height, width) and the still pictures (n, 3, height, width).
    """

    name: str
    version: int
    published: S
    sample: Callable[[S, np.random.Generator], Episode | Rejected]
    draw_frames: Callable[[S, np.ndarray, np.ndarray], np.ndarray]
    draw_moving: Callable[[S, np.ndarray], np.ndarray]
    find: Callable[[np.ndarray], np.ndarray]
    read: Callable[[np.ndarray, np.ndarray, S], np.ndarray]

    def generate(
        self,
        count: int,
        seed: int,
        settings: S | None = None,
        *,
        cache: Path | None = None,
        processes: int | None = 1,
        max_rejections: int = 200,
        on_progress: OnProgress | None = None,
    ) -> Episodes[S]:
        """Draw episodes, or read them from the cache.

        Args:
            count: number of accepted episodes.
            seed: of all of them; the same episodes come whatever the number of processes.
            settings: the published ones if None.
            cache: folder that keeps the result, such as `mechlearn_zoo.tasks.caching.default_folder()`; None keeps nothing.
            processes: how many draw at once; one a processor core if None.
            max_rejections: how often in a row an episode may be rejected.
            on_progress: told after every episode; `mechlearn_zoo.tasks.generation.progress_bar` makes one.

        Raises:
            RuntimeError: an episode was rejected too often.
            ValueError: a count below 1 or a seed below 0.
        """
        chosen = self.published if settings is None else settings
        sample = partial(self.sample, chosen)
        draw = partial(draw_many, sample, count, seed, max_rejections=max_rejections, processes=processes)
        key = caching.key_of(self.version, (chosen, count, seed, max_rejections), ("pymunk", "numpy"))
        name = f"{self.name}-{count}-{key}"
        return _of(self, chosen, caching.cached(cache, name, lambda: _to_arrays(draw(on_progress=on_progress))))


def _to_arrays(drawn: Drawn[Episode]) -> caching.Arrays:
    """Return what was drawn as arrays, for a file."""
    episodes, paths = drawn.items, [episode.path for episode in drawn.items]
    return {
        "images": np.stack([episode.image for episode in episodes]),
        "layouts": np.stack([episode.layout for episode in episodes]),
        "paths": np.concatenate(paths),
        "lengths": np.array([len(path) for path in paths]),
        "labels": np.array([episode.label for episode in episodes]),
        "reasons": np.array(list(drawn.rejections), dtype=np.str_),
        "rejected": np.array(list(drawn.rejections.values()), dtype=np.int64),
    }


def _of(simulation: Simulation[S], settings: S, arrays: caching.Arrays) -> Episodes[S]:
    """Take what `_to_arrays` returned."""
    paths = tuple(np.split(arrays["paths"], np.cumsum(arrays["lengths"])[:-1]))
    rejections = dict(zip(arrays["reasons"].tolist(), arrays["rejected"].tolist(), strict=True))
    return Episodes(simulation, settings, arrays["images"], arrays["layouts"], paths, arrays["labels"], rejections)
