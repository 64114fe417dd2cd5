"""Settings of captions, and its presets."""

from dataclasses import dataclass
from typing import Annotated, Literal

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
    judge_rate: Annotated[float, Ge(0)] = 0.0
    """Of discriminators alone; 0 for the generators'."""
    divergence: Annotated[float, Ge(0)] = 1.0
    """Weight of F_ca's term; large, it washes the caption out."""
    averaged: Annotated[float, Ge(0)] = 0.0
    """How slowly a running mean of the generator's weights forgets; it is what paints. 0 for no mean."""
    side: Literal[16, 32] = 32
    """Pixels of a picture's side; at 16, digits are as large as they were scanned and in the middle of their halves."""
    warm: Annotated[int, Ge(0)] = 0
    """Steps that words' encoders learn from sentences alone at first, 0 for none; words alone learn colours and no names."""
    twins: bool = False
    """Whether each picture has a twin with its digits exchanged, among a step's and among the candidates.

    Encoders weigh features by place then; they know no order otherwise.
    """

    def __post_init__(self) -> None:
        check_limits(self)
        if self.twins and (self.pictures % 2 or self.tested % 2 or self.batch % 2):
            raise ValueError("Twins come in pairs. Take even `pictures`, `tested` and `batch`.")


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Words have something to say once names are known, which takes more steps; its seeds are no other preset's.
    "longer": Preset(Config(seed=200, steps=6000), seeds=6),
    # Encoders for as many steps as in quick, then the two generators.
    "gan": Preset(Config(tested=1000, gan_steps=1500, channels=24, weight=1.0, gan_rate=1e-3), seeds=6),
    # The smallest generator found whose pictures fit their captions.
    "small": Preset(
        Config(
            pictures=16_000,
            steps=5000,
            warm=3000,
            gan_steps=1500,
            channels=24,
            weight=1.0,
            gan_rate=1e-3,
            judge_rate=5e-4,
            divergence=1e-3,
            averaged=0.99,
            side=16,
            twins=True,
        ),
        seeds=6,
    ),
    "paper": Preset(Config(pictures=20_000, tested=2000, steps=6000, batch=48, gan_steps=40_000), seeds=6),
}
