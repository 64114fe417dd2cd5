"""The weak columns of cells, and on which of eight wards a patient lay; each clinic fills its wards in its own way."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from claimlab import Preset, Row, check_limits
from mechlearn_zoo.experiments.own_data.comparing import METHODS, Settings, candidates, scores
from mechlearn_zoo.tasks.tables.cells import wards

Size = Literal["4x106", "8x53"]


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    grid: Annotated[tuple[Size, ...], MinLen(1)] = ("4x106", "8x53")
    """Training clinics x rows of each."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=10), "paper": Preset(Config(), seeds=20)}
CELLS = {size: {"size": size} for size in ("4x106", "8x53")}


def run(config: Config) -> Iterator[Row]:
    """Yield every method's score in every cell."""
    for size in config.grid:
        sites, rows = map(int, size.split("x"))
        board = wards(config.seed, sites, rows)
        yield from scores(config, board, candidates(board, (*METHODS, "pooled boosting")), {"size": size})
