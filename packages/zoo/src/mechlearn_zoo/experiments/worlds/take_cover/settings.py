"""Settings of Take Cover, and its presets: ours in minutes, VizDoom's scenario, car racing."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge, MinLen

from claimlab import Limited, Positive, Preset

Whole = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 300
    """First seed: of the episodes, V, M and the evolution."""
    world: Literal["ours", "doom", "car"] = "ours"
    """Our vectorised world, VizDoom's Take Cover, or gymnasium's car racing."""
    frame_skip: Whole = 1
    """Tics of VizDoom in a step; not read elsewhere."""
    fog: Positive = 1.0
    """Row of our world from which on balls are hidden, as a share of the frame: 1 hides none; not read elsewhere."""
    episodes: Annotated[int, Ge(10), "a tenth of them is held out"] = 600
    """Episodes of the random policy."""
    steps: Whole = 80
    """Steps of each at most."""
    lanes: Whole = 600
    """Episodes side by side: as many simulators are held at once."""
    latent: Whole = 12
    """Dimensions of z."""
    widths: Annotated[tuple[Whole, ...], MinLen(1)] = (16, 48)
    """Channels of V's convolutions."""
    vision_steps: Whole = 1400
    """Training steps of V, 64 frames each."""
    vision_rate: Positive = 2e-3
    """V's learning rate at first."""
    reconstruction: Positive = 60.0
    """Weight of V's squared error beside its divergence; small things need more than 1."""
    most_lost: Positive = 0.2
    """Share of the frames' energy that V may lose; a seed with more stops there."""
    hidden: Whole = 96
    """Units of M."""
    mixtures: Whole = 5
    """Components for each dimension of z."""
    memory_steps: Whole = 800
    """Training steps of M."""
    memory_batch: Whole = 32
    """Episodes in each."""
    memory_rate: Positive = 4e-3
    """M's learning rate at first."""
    temperatures: tuple[Positive, ...] = (0.1, 1.0)
    """Of the dreams that a controller is evolved in; none: there is no dream."""
    in_world: tuple[Literal["z", "z-h", "z-untrained"], ...] = ("z", "z-h", "z-untrained")
    """What controllers that are evolved in the world see: z, z and M's h, z and an untrained M's h; none: it is left out."""
    population: Annotated[int, Ge(4)] = 24
    """Candidates of a generation."""
    trials: Whole = 6
    """Episodes by which a candidate is judged."""
    generations: Whole = 14
    """Generations of each evolution."""
    sigma: Positive = 0.3
    """Initial standard deviation of the candidates."""
    horizon: Whole = 300
    """Steps of an episode at most, in the world and in a dream."""
    tested: Whole = 200
    """Episodes by which the evolved controller is tested."""
    film: Annotated[int, Ge(0)] = 48
    """Frames of dream and world, or of the fog, that are kept for pictures; 0 for none. In VizDoom and car racing any other
    number keeps two pictures: a frame, and what V makes of it."""


DOOM = Config(
    seed=100,
    world="doom",
    frame_skip=4,
    episodes=400,
    steps=150,
    lanes=8,
    latent=64,
    widths=(32, 64, 128, 256),
    vision_steps=2000,
    vision_rate=1e-3,
    reconstruction=20.0,
    most_lost=0.5,
    hidden=256,
    memory_steps=1500,
    temperatures=(0.1, 1.15),
    in_world=(),
    trials=16,
    generations=80,
    sigma=0.1,
    horizon=525,
    tested=100,
    film=0,
)
"""VizDoom's Take Cover in tics of four: about an hour of one core a seed."""

PAPER = replace(
    DOOM,
    frame_skip=1,
    episodes=10_000,
    steps=2100,
    lanes=16,
    vision_steps=150_000,
    vision_rate=1e-4,
    reconstruction=1.0,
    hidden=512,
    memory_steps=60_000,
    memory_batch=100,
    memory_rate=1e-3,
    temperatures=(0.1, 0.5, 1.0, 1.15, 1.3),
    population=64,
    generations=2000,
    horizon=2100,
)
"""The text's second world, VizDoom's, at its sizes: days."""

CAR = replace(
    PAPER, world="car", steps=1000, latent=32, hidden=256, temperatures=(), in_world=("z", "z-h", "z-untrained"), horizon=1000
)
"""Its first world, car racing: days."""

FOG = Config(seed=400, fog=0.5, temperatures=())
"""Ours, but balls are hidden in the lower half of the frame, and nobody dreams: does a controller need memory?"""

PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "fog": Preset(FOG, seeds=6),
    "doom": Preset(DOOM, seeds=3),
    "paper": Preset(PAPER, seeds=3),
    "car": Preset(CAR, seeds=3),
}
