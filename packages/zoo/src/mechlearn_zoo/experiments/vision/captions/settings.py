"""Settings of captions, and its presets."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from claimlab import Positive, Preset, check_limits

Whole = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of digits, pictures, captions and networks."""
    pictures: Whole = 4000
    """Training pictures."""
    tested: Annotated[int, Ge(2)] = 300
    """Test pictures, of other digits."""
    candidates: Annotated[int, Ge(2)] = 100
    """Captions that a picture's own is searched among."""
    width: Annotated[int, Ge(2)] = 64
    """Dimensions of words and regions; even, half of it each way of the text encoder."""
    sharpness: Positive = 8.0
    """What words are multiplied by before regions choose among them."""
    steps: Whole = 1500
    """Training steps of each pair of encoders."""
    batch: Annotated[int, Ge(2)] = 16
    """Pictures of a step."""
    rate: Positive = 3e-3
    """Learning rate at first."""
    gan_steps: Annotated[int, Ge(0)] = 0
    """Training steps of each two-stage generator; 0 for none."""
    channels: Whole = 48
    """Of the generator and the discriminators."""
    weight: Annotated[float, Ge(0)] = 5.0
    """Lambda, of the matching loss in the generator's."""
    gan_rate: Positive = 2e-4
    """Adam's learning rate of generators and discriminators."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Words have something to say once names are known, which takes more steps; its seeds are no other preset's.
    "longer": Preset(Config(seed=200, steps=6000), seeds=6),
    # Encoders for as many steps as in quick, then the two generators.
    "gan": Preset(Config(tested=1000, gan_steps=1500, channels=24, weight=1.0, gan_rate=1e-3), seeds=6),
    "paper": Preset(Config(pictures=20_000, tested=2000, steps=6000, batch=48, gan_steps=40_000), seeds=6),
}
