"""Settings of world models with skips, and their presets."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, MinLen

from claimlab import Positive, Preset, check_limits
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.funnel_board.presets import BoardGeometry, FallRecording

Whole = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the networks, the batches and the matching."""
    columns: Annotated[int, Ge(1)] = 3
    """Columns of a board, at most 4; it has one platform more."""
    rows: Annotated[int, Ge(1)] = 1
    """Rows of a board; the thesis has 4 x 6."""
    pixels: Whole = 4
    """Pixels of a unit of length; the thesis has 6."""
    episodes: Whole = 500
    """Boards to learn from, for V and M."""
    tests: Whole = 100
    """Boards to dream of; as many others stop M's training."""
    latent: Whole = 8
    """Dimensions of z."""
    widths: Annotated[tuple[Whole, ...], MinLen(1)] = (16, 32, 64)
    """Channels of V's convolutions."""
    vision_steps: Whole = 700
    """Training steps of V, of 48 frames."""
    reconstruction: Positive = 60.0
    """Weight of V's squared error: a ball is a few pixels."""
    hidden: Whole = 128
    """Units of M."""
    mixtures: Whole = 5
    """K, components of each dimension's mixture."""
    horizon: Whole = 16
    """H: how many frames ahead M with skips may match."""
    exploration_steps: Annotated[int, Ge(0)] = 600
    """Training steps in which the probability of a random match falls from 1 to 0; 0 for no exploration."""
    floor: float = -3.0
    """The log scales' floor."""
    evaluations: Whole = 60_000
    """Model evaluations that training spends, the same for every M."""
    batch: Whole = 6
    """Boards of a training step."""
    learning_rate: Positive = 3e-3
    """Adam's at first, falling to 0 in a straight line."""
    duration: Whole = 60
    """Frames after which a dream ends that has shown no label."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.columns > 4:
            raise ValueError(f"columns should be at most 4. Found {self.columns}.")
        if self.batch > self.episodes:
            raise ValueError(f"batch should be at most {self.episodes}: it comes from the episodes. Found {self.batch}.")

    @property
    def board(self) -> FunnelBoardSettings:
        """What decides a board."""
        geometry = BoardGeometry(columns=self.columns, rows=self.rows, starts="all")
        return FunnelBoardSettings(geometry, recording=FallRecording(pixels_per_unit=self.pixels))


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(
        Config(
            columns=4, rows=6, pixels=6, episodes=5000, tests=500, latent=32, widths=(32, 64, 128, 256), vision_steps=30_000,
            hidden=512, horizon=20, exploration_steps=10_000, evaluations=20_000_000, batch=16, learning_rate=1e-3,
            duration=250,
        ),
        seeds=10,
    ),
}  # fmt: skip
