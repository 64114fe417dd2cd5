"""Settings of two rooms, and its presets."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from claimlab import Limited, Positive, Preset

Whole = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the pairs, the networks, and the plans' ends."""
    pairs: Whole = 60_000
    """Pairs of points a step apart."""
    lamps: Annotated[int, Ge(0)] = 0
    """Lamps that are seen beside the place and flicker, their brightness drawn anew for every frame; 0 for none."""
    brightness: Positive = 1.0
    """A lamp's, uniform up to this on either side of 0; places are in [-1, 1]."""
    states: Annotated[int, Ge(2)] = 9
    """K, how many abstract states."""
    steps: Whole = 3000
    """Training steps of each way, of 256 pairs."""
    hidden: Whole = 128
    """Units of each network's two hidden layers."""
    information: Positive = 0.3
    """Weight of the information bound."""
    stay: Annotated[float, Ge(0)] = 3.0
    """Diagonal of T's logits at first."""
    plans: Whole = 200
    """Plans from one room to the other."""
    least: Annotated[float, Ge(0)] = 0.003
    """Transitions of a lower probability are not planned with."""

    @property
    def seen(self) -> int:
        """Return the numbers in an observation: the place's two, and each lamp's."""
        return 2 + self.lamps


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Most of what is seen has nothing to do with where one can go: whoever looks at single points has to lose.
    "lamps": Preset(Config(seed=200, lamps=2, brightness=2.0), seeds=6),
    "paper": Preset(Config(pairs=500_000, steps=20_000, hidden=256), seeds=10),
}
