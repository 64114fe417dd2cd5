"""How much of everything."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from claimlab import Positive, Preset, check_limits

Channel = Literal["symbols", "none", "gaze", "bodies"]
"""What two agents have of each other: words, nothing, or with speech cut gaze or bodies."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 200
    """First seed: of worlds, initial weights and noise."""
    channels: tuple[Channel, ...] = ("symbols", "none", "gaze", "bodies")
    """Of two agents; () leaves them out."""
    landmarks: Annotated[int, Ge(2)] = 3
    """Landmarks, each of its own colour."""
    symbols: Annotated[int, Ge(2)] = 8
    """That can be said in a step."""
    time: Annotated[int, Ge(2)] = 8
    """Steps of an episode."""
    batch: Annotated[int, Ge(2)] = 128
    """Worlds in an optimiser step."""
    steps: Annotated[int, Ge(1)] = 350
    """Optimiser steps, Adam, the rate falling to 0 in a straight line; the change comes at once."""
    three_steps: Annotated[int, Ge(0)] = 350
    """The same among three agents; 0 leaves them out."""
    vocabulary: Annotated[float, Ge(0)] = 0.0
    """Weight of a reward for symbols that are said often, in an arm of its own among three; 0 leaves it out."""
    learning_rate: Positive = 4e-3
    """Adam's, at first."""
    temperature: Positive = 1.0
    """Of the relaxed symbols."""
    push: Positive = 8.0
    """Largest force, so that a landmark can be reached in an episode."""
    test: Annotated[int, Ge(2)] = 2000
    """Worlds to test on."""

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.channels and not self.three_steps:
            raise ValueError("Two agents or three should be trained. Found no `channels` and 0 `three_steps`. Set one of them.")


PRESETS = {
    "quick": Preset(Config(), seeds=3, tolerance=1e-2),
    # Two agents alone, in episodes that leave time to show something by walking.
    "longer": Preset(
        Config(seed=100, channels=("none", "bodies"), time=16, batch=192, steps=1600, three_steps=0), seeds=6, tolerance=1e-2
    ),
    # Three agents alone, with and without the reward that makes vocabularies small.
    "vocabulary": Preset(
        Config(seed=100, channels=(), batch=192, steps=550, three_steps=800, vocabulary=0.005), seeds=6, tolerance=1e-2
    ),
    "paper": Preset(
        Config(landmarks=6, symbols=20, time=16, batch=1024, steps=20_000, three_steps=20_000, test=10_000),
        seeds=6,
        tolerance=1e-2,
    ),
}
