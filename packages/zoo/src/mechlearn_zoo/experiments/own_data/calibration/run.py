"""The weak columns of cells, each clinic with its own share of malignant tumours and instruments of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

from claimlab import Preset, Row, check_limits
from mechlearn_zoo.experiments.own_data.comparing import METHODS, Settings, candidates, scores
from mechlearn_zoo.tasks.tables.shifts import calibration


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=10), "paper": Preset(Config(), seeds=20)}
CELLS = {"8x40": {"size": "8x40"}}


def run(config: Config) -> Iterator[Row]:
    """Yield every method's score at a new clinic."""
    board = calibration(config.seed)
    yield from scores(config, board, candidates(board, (*METHODS, "pooled boosting")), CELLS["8x40"])
