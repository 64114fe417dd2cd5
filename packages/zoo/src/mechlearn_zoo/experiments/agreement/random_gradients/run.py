"""Random gradients, averaged and masked."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import torch
from annotated_types import Ge, Interval, MinLen

from claimlab import Limited, Preset, Row
from mechlearn.agreement import AndMask, Mean, Rule, combine
from mechlearn.surfaces import proposition_2_bound


@dataclass(frozen=True)
class Config(Limited):
    """Settings of the simulation."""

    seed: int = 0
    """First seed: of the random gradients."""
    components: Annotated[int, Ge(1)] = 3000
    """n, the number of parameters."""
    share: Annotated[float, Interval(ge=0.5, le=1), "fewer equal signs than half do not exist"] = 0.8
    """t / d: the share of signs that must be equal for a component to survive."""
    counts: Annotated[tuple[int, ...], Ge(1), MinLen(1)] = (2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300)
    """d, the numbers of environments."""
    repeats: Annotated[int, Ge(1)] = 20
    """Independent draws averaged for each number of environments."""


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(repeats=200), seeds=10)}


def least_equal_signs(d: int, share: float) -> int:
    """t, the least number of equal signs that lets a component through."""
    return math.ceil(Fraction(str(share)) * d)


def mean_square(rule: Rule, d: int, config: Config, generator: torch.Generator) -> float:
    """Return the combined gradient's mean square a component, over all repeats."""
    total = 0.0
    for _ in range(config.repeats):
        noise = torch.randn(d, config.components, dtype=torch.float64, generator=generator)
        total += float(combine(rule, noise).gradient.square().mean())
    return total / config.repeats


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each number of environments: measured mean squares and the bounds."""
    generator = torch.Generator().manual_seed(config.seed)
    for d in config.counts:
        t = least_equal_signs(d, config.share)
        # t equal signs of d make a sign sum of 2 t - d; written as this one division, tau compares exactly with counts.
        yield {
            "d": d,
            "t": t,
            "mean": mean_square(Mean(), d, config, generator),
            "masked": mean_square(AndMask(max(0, 2 * t - d) / d), d, config, generator),
            "printed_bound": proposition_2_bound(d, t, "printed"),
            "corrected_bound": proposition_2_bound(d, t),
        }
