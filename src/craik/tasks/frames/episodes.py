"""What data sets of the simulated worlds have in common: a still picture, the path of what moves, a label; kept on disk.

Index conventions: n runs over episodes, time over frames from 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt8

from craik.tasks import caching
from craik.tasks.generation import Drawn, OnProgress, Rejected, draw_many
from craik.tasks.simulators import version_of


class Episode(NamedTuple):
    """One episode: the picture without what moves, the layout as numbers, the path in world units, the outcome."""

    image: UInt8[np.ndarray, "3 height width"]
    layout: Float[np.ndarray, " layout"]
    path: Float[np.ndarray, "time 2"]
    label: int


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes of a world; pictures of what moves are drawn on demand, so that a data set stays small.

    Attributes:
        images: the pictures without what moves.
        layouts: the same as numbers.
        paths: for each episode the centre of what moves, in every frame, in world units.
        labels: the outcomes.
        rejections: how many draws were rejected for which reason.
    """

    images: UInt8[np.ndarray, "n 3 height width"]
    layouts: Float[np.ndarray, "n layout"]
    paths: tuple[Float[np.ndarray, "_ 2"], ...]
    labels: Int[np.ndarray, " n"]
    rejections: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.paths)

    def states(self, index: int) -> Float[np.ndarray, "time state"]:
        """Return one episode as state vectors without pixels: x, y, their change since the last frame, the layout."""
        path = self.paths[index]
        change = np.diff(path, axis=0, prepend=path[:1])
        layout = np.broadcast_to(self.layouts[index], (len(path), self.layouts.shape[1]))
        return np.concatenate([path, change, layout], axis=1).astype(np.float32)

    @classmethod
    def from_drawn(cls, drawn: Drawn[Episode]) -> "Episodes":
        """Stack episodes that have been drawn."""
        parts = [np.stack([getattr(episode, name) for episode in drawn.items]) for name in ("image", "layout")]
        labels = np.array([episode.label for episode in drawn.items])
        return cls(parts[0], parts[1], tuple(episode.path for episode in drawn.items), labels, drawn.rejections)

    def arrays(self) -> caching.Arrays:
        """Return the whole as arrays, for a file."""
        return {
            "images": self.images,
            "layouts": self.layouts,
            "paths": np.concatenate(self.paths),
            "lengths": np.array([len(path) for path in self.paths]),
            "labels": self.labels,
            "reasons": np.array(list(self.rejections), dtype=np.str_),
            "rejected": np.array(list(self.rejections.values()), dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: caching.Arrays) -> "Episodes":
        """Take what `arrays` returned."""
        paths = np.split(arrays["paths"], np.cumsum(arrays["lengths"])[:-1])
        rejections = dict(zip(arrays["reasons"].tolist(), arrays["rejected"].tolist(), strict=True))
        return cls(arrays["images"], arrays["layouts"], tuple(paths), arrays["labels"], rejections)


def draw_episodes(
    world: str,
    sample: Callable[[np.random.Generator], Episode | Rejected],
    made_from: tuple[object, ...],
    count: int,
    seed: int,
    *,
    cache: Path | None,
    processes: int | None,
    max_rejections: int,
    on_progress: OnProgress | None,
) -> Episodes:
    """Return episodes from the cache, or draw them.

    Args:
        world: a package of `craik.tasks` with the simulation's source; files are named after it.
        sample: draws one episode.
        made_from: the settings behind `sample`, by which a cached file is found.
        count: number of accepted episodes.
        seed: of all of them.
        cache: folder that keeps them; None keeps nothing.
        processes: how many draw at once; one a processor core if None.
        max_rejections: how often in a row an episode may be rejected.
        on_progress: told after every episode.
    """
    folder = Path(__file__).parent
    sources = [*folder.glob(f"{world}/*.py"), *(folder / f"{name}.py" for name in ("drawing", "episodes", "generation"))]
    key = caching.key_of((*made_from, count, seed, max_rejections, version_of("pymunk"), np.__version__), sources)
    draw = partial(draw_many, sample, count, seed, max_rejections=max_rejections, processes=processes, on_progress=on_progress)
    name = f"{world.replace('_', '-')}-{count}-{key}"
    return Episodes.from_arrays(caching.cached(cache, name, lambda: Episodes.from_drawn(draw()).arrays()))
