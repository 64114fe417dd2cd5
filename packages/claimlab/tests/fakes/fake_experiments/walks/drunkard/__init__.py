"""A walk that each seed draws: one file, no claims, no figures."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from claimlab import Experiment, Preset, Row


@dataclass(frozen=True)
class Config:
    """Settings."""

    seed: int = 0
    """First seed."""
    rows: int = 5
    """How many rows a seed yields."""


def run(config: Config) -> Iterator[Row]:
    """Yield where the walk is."""
    draw, place = random.Random(config.seed), 0.0
    for _ in range(config.rows):
        place += draw.gauss(0, 1)
        yield {"place": place, "side": "left" if place < 0 else "right"}


EXPERIMENT = Experiment(
    name="drunkard",
    title="A walk that each seed draws.",
    reproduces="nothing",
    presets={"quick": Preset(Config(), seeds=3)},
    run=run,
)
