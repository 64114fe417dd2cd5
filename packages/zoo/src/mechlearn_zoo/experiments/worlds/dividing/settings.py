"""Settings of the search through mazes, and its presets."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from claimlab import Positive, Preset, Share, check_limits

Whole = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the mazes, the walks, the network, and the problems."""
    size: Annotated[int, Ge(5), "rooms and walls alternate"] = 11
    """Cells of a maze's side, odd."""
    loops: Annotated[int, Ge(0)] = 0
    """Walls opened beside a maze's tree; 0 for none: exactly one way between any two cells."""
    reach: Whole = 2
    """The low-level policy succeeds within so many moves, and never farther."""
    mazes: Whole = 1500
    """Mazes to learn from, each walked through once."""
    walked: Whole = 60
    """Moves of a walk."""
    layers: Whole = 10
    """Convolutions of the proposals' network between the first and the last."""
    channels: Whole = 24
    """Channels of each."""
    steps: Whole = 700
    """Training steps."""
    batch: Whole = 64
    """Solved problems of a step."""
    learning_rate: Positive = 2e-3
    """Adam's at first; it falls to 0 in a straight line."""
    problems: Whole = 40
    """Mazes that nobody walked through, with one problem each."""
    budget: Whole = 200
    """Questions to the low-level policy."""
    exploration: Positive = 1.0
    """c."""
    mixed: Share = 0.02
    """Share of the prior that is spread evenly over all cells, for every way to propose."""
    patience: Whole = 1000
    """Passes that ask nothing new, after which a search gives up."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.size % 2 == 0:
            raise ValueError(f"size should be odd. Found {self.size}.")


PAPER = Config(
    size=21, loops=4, reach=1, mazes=20_000, walked=300, layers=24, channels=64, steps=40_000, problems=500, budget=500
)
PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(PAPER, seeds=10)}
