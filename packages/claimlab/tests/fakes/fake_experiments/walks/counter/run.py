"""Counting, and every way in which a run can go wrong."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from claimlab import Preset, Row, check_limits, number
from fake_experiments.walks.steps import double

IMPLEMENTATION = "by hand"


def DATA_DIGESTS() -> dict[str, str]:  # noqa: N802  # the name that the lab asks for
    """Digests of the data that was read."""
    return {"walks.bin": "d1ce"}


@dataclass(frozen=True)
class Config:
    """Settings."""

    steps: Annotated[int, Ge(0)] = 3
    """How many rows a seed yields."""
    shortcut_scale: float = 0.5
    """How far each step
    goes."""
    mode: Literal["plain", "nan", "raise", "die", "empty", "sleep", "object"] = "plain"
    """What happens in the last row of an odd seed."""
    widths: tuple[int, ...] = (4, 4)
    """Nothing."""
    limit: int | None = None
    """Also nothing."""
    flip: bool = False
    log: str = ""
    seed: int = 0
    """First seed."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=2), "paper": Preset(Config(steps=6), seeds=4, tolerance=0.01)}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (number(row, "step") + 1) / config.steps, f"value {number(row, 'value'):.2f}"


def run(config: Config) -> Iterator[Row]:
    """Yield one row a step."""
    odd = config.seed % 2 == 1
    if config.mode == "empty":
        return
    for step in range(config.steps):
        if odd and step == config.steps - 1:
            go_wrong(config.mode)
        value = config.seed + double(config.shortcut_scale) * step
        if config.mode == "nan":
            value = float("nan")
        yield {"step": step, "value": value if config.mode != "object" else object()}


def go_wrong(mode: str) -> None:
    """Raise, die or sleep."""
    if mode == "raise":
        raise RuntimeError("the walk fell off")
    if mode == "die":
        os.kill(os.getpid(), 9)
    if mode == "sleep":
        time.sleep(600)
