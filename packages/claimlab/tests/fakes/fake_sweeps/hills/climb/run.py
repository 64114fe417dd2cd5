"""The height at x, seen higher at each step; test rows say the opposite, so that whoever looks at them is found out."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from claimlab import Choice, LogUniform, Objective, Options, Preset, Ranges, Row, Whole

TOP = 0.1


@dataclass(frozen=True)
class Config:
    """Where on the hill."""

    seed: int = 0
    x: float = 0.01
    y: int = 3
    shape: str = "round"
    l1: float = 0.0
    l2: float = 0.0
    methods: tuple[str, ...] = ("up", "down")
    steps: int = 3
    pause: float = 0.0


PRESETS = {"quick": Preset(Config(), seeds=2), "slow": Preset(Config(pause=0.05), seeds=1), "bare": Preset(Config(), seeds=1)}
_RANGES = Ranges(
    of={
        "x": LogUniform(1e-4, 1),
        "y": Whole(0, 9),
        "shape": Choice("round", "steep", "broken"),
        "penalty": Options({"none": {"l1": 0.0, "l2": 0.0}, "l1": {"l1": 0.1, "l2": 0.0}, "l2": {"l1": 0.0, "l2": 0.1}}),
    },
    objective=Objective(("validation_height",)),
    methods={"up": {"methods": ("up",)}, "down": {"methods": ("down",)}},
)
RANGES = {"quick": _RANGES, "slow": _RANGES}


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each step and a last one with test data."""
    if config.shape == "broken":
        raise ValueError("this shape breaks")
    height = 1 - abs(config.x - TOP) - 0.1 * abs(config.y - 5) - config.l1 - config.l2 + 0.001 * config.seed
    for step in range(1, config.steps + 1):
        time.sleep(config.pause)
        yield {"kind": "curve", "method": config.methods[0], "validation_height": height * step / config.steps}
    yield {"kind": "final", "method": config.methods[0], "validation_height": height, "test_height": -height}
