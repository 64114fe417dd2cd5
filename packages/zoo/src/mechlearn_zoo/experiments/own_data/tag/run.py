"""A column that goes with the label, turned round at a quarter of the sites, and new sites that keep, shuffle or turn it.

Cells of tumours at 6 clinics of 71 rows, and noisy digits, odd or even, at 8 sites of 179.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from claimlab import Preset, Row, check_limits
from mechlearn_zoo.experiments.own_data.comparing import METHODS, Settings, candidates, scores
from mechlearn_zoo.tasks.tables.cells import tag
from mechlearn_zoo.tasks.tables.codes import digits_tag

Board = Literal["cells", "digits"]
BOARDS = {"cells": tag, "digits": digits_tag}


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    boards: Annotated[tuple[Board, ...], MinLen(1)] = ("cells", "digits")
    """Which are compared."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(), seeds=20)}
CELLS = {f"{board}, {new}": {"board": board, "new": new} for board in BOARDS for new in ("reversed", "shuffled", "as before")}


def run(config: Config) -> Iterator[Row]:
    """Yield every method's score at the three new sites of each board."""
    for name in config.boards:
        board = BOARDS[name](config.seed)
        yield from scores(config, board, candidates(board, (*METHODS, "pooled boosting")), {"board": name})
