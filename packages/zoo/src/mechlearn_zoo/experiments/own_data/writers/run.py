"""Thirteen writers' digits, three of them new: as they are, and with the label as a code of the writer's own in the corners."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from claimlab import Preset, Row, check_limits
from mechlearn_zoo.experiments.own_data.comparing import Settings, candidates, scores
from mechlearn_zoo.tasks.tables.writers import writers

Board = Literal["as they are", "with codes"]


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    boards: Annotated[tuple[Board, ...], MinLen(1)] = ("as they are", "with codes")
    """Which are compared."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(), seeds=20)}
CELLS = {"as they are": {"board": "as they are"}, "with codes": {"board": "with codes"}}


def run(config: Config) -> Iterator[Row]:
    """Yield every method's score at each of three new writers."""
    for name in config.boards:
        board = writers(config.seed, height=float(name == "with codes"))
        yield from scores(config, board, candidates(board), {"board": name})
