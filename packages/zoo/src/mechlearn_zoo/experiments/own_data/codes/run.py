"""Noisy digits at sites with codes of their own, and at exchangeable ones: every way to train, judged at one new site.

All networks have six configurations, chosen by the loss on held-out training sites, and are stopped early there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from claimlab import Preset, Row, check_limits, part
from mechlearn_zoo.experiments.own_data.comparing import Settings, candidates, scores
from mechlearn_zoo.tasks.tables.codes import codes

Size = Literal["4x359", "8x179", "16x89", "8x53"]
NULL = "8x53"
"""The size at which sites without codes are compared, too."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    grid: Annotated[tuple[Size, ...], MinLen(1)] = ("4x359", "8x179", "16x89", "8x53")
    """Training sites x rows of each; the last one also without codes."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(), seeds=20)}
CELLS = {
    **{f"{size}": {"size": size, "code": 1.0} for size in ("4x359", "8x179", "16x89", "8x53")},
    "8x53 without codes": {"size": NULL, "code": 0.0},
}


def run(config: Config) -> Iterator[Row]:
    """Yield every method's score in every cell."""
    for cell in CELLS.values():
        size, height = str(cell["size"]), float(cell["code"])
        if size in config.grid:
            sites, rows = map(int, size.split("x"))
            board = codes(config.seed, sites, rows, height)
            yield from part(f"{size}, {height}", scores(config, board, candidates(board), cell))
