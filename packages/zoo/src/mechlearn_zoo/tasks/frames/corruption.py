"""Episodes that are partly corrupted: frames that are missing, frames that are noise, and another pace."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from mechlearn.arguments import check_one_of, check_share

Kind = Literal["clean", "missing", "noise", "speed"]

SLOWEST, FASTEST = 0.5, 2.0
"""An episode's pace is drawn between these, evenly in its logarithm."""


@dataclass(frozen=True)
class Corruption:
    """What is done to training episodes.

    Args:
        kind: "missing": frames are left out; "noise": a frame's numbers are replaced, each by one drawn evenly from its range;
            "speed": the whole episode is played at a pace of its own.
        level: the share of frames that are left out or replaced; the first and the last are kept.

    Raises:
        TypeError: a level that is no number.
        ValueError: another kind, or a level outside [0, 1].
    """

    kind: Kind
    level: float = 0.0

    def __post_init__(self) -> None:
        """Reject what would hit no frame or all of them."""
        check_one_of("kind", self.kind, get_args(Kind))
        check_share("level", self.level)

    @property
    def name(self) -> str:
        """What figures and claims call it."""
        return self.kind if self.kind in ("clean", "speed") else f"{self.kind}-{round(100 * self.level)}"

    def played(self, path: Float[np.ndarray, "time 2"], generator: np.random.Generator) -> Float[np.ndarray, "frames 2"]:
        """Return a path at the pace of its episode: straight between its frames, its last one kept."""
        if self.kind != "speed":
            return path
        pace = float(np.exp(generator.uniform(np.log(SLOWEST), np.log(FASTEST))))
        times = np.append(np.arange(0, len(path) - 1, pace), len(path) - 1)
        return np.stack([np.interp(times, np.arange(len(path)), side) for side in path.T], axis=1)

    def hit(self, count: int, generator: np.random.Generator) -> Bool[np.ndarray, " frames"]:
        """Say which of an episode's frames are left out or replaced."""
        hit = generator.random(count) < (self.level if self.kind in ("missing", "noise") else 0.0)
        hit[0] = hit[-1] = False
        return hit


ALL = (
    Corruption("clean"),
    *(Corruption(kind, level) for kind in ("missing", "noise") for level in (0.1, 0.3, 0.5)),
    Corruption("speed"),
)
"""What is tried: 0 to 50 % of the frames, and paces of a half to two."""
