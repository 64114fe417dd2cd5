"""A walk whose loops are kept; it needs no torch."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from claimlab import Experiment, Preset, Row, checkpoint
from fake_trainings.loops import faults

faults.aim()


@dataclass(frozen=True)
class Config:
    """Settings."""

    seed: int = 0
    """First seed."""
    steps: int = 6
    """Rows of each of two walks."""
    pause: float = 0.0
    """Seconds that a step takes."""
    forget: bool = False
    """Do not yield again what was kept."""


class Place:
    """Where a walk is."""

    def __init__(self) -> None:
        self.x = 0.0

    def state_dict(self) -> dict[str, float]:
        """Return it."""
        return {"x": self.x}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go there."""
        self.x = state["x"]


def run(config: Config) -> Iterator[Row]:
    """Yield where two walks are, and the second goes on from the first one's generators."""
    draw, array = random.Random(config.seed), np.random.default_rng(config.seed)
    for name in ("first", "second"):
        place = Place()
        saved = checkpoint(name, place, draw, array)
        yield from [] if config.forget else saved.values
        if saved.finished:
            continue
        for step in range(saved.done + 1, config.steps + 1):
            time.sleep(config.pause)
            place.x += draw.gauss(0, 1) + float(array.normal())
            yield saved.keep(step, {"walk": name, "step": step, "x": place.x})
        yield from saved.finish({"walk": name, "step": config.steps, "x": round(place.x)})


EXPERIMENT = Experiment(
    name="walker",
    title="A walk whose loops are kept.",
    reproduces="nothing",
    presets={"quick": Preset(Config(), seeds=2)},
    run=run,
    progress=lambda config, row: (int(row["step"] or 0) / config.steps, str(row["walk"])),
)
