"""Tables whose sites are known: every way to train, judged at sites that nothing was trained on.

The first board has noisy digits at sites with codes of their own, and at exchangeable ones. The others plant another shortcut,
or none. All networks have six configurations, chosen by the loss on held-out training sites, and are stopped early there.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from claimlab import Preset, Row, part
from mechlearn_zoo.experiments.own_data.comparing import Cell, Settings, candidates, scores
from mechlearn_zoo.tasks.tables import SiteTable, cells
from mechlearn_zoo.tasks.tables.codes import codes, digits_tag
from mechlearn_zoo.tasks.tables.shifts import calibration
from mechlearn_zoo.tasks.tables.writers import writers

Size = Literal["4x359", "8x179", "16x89", "8x53"]
NULL = "8x53"
"""The size at which sites without codes are compared, too."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    grid: Annotated[tuple[Size, ...], MinLen(1)] = ("4x359", "8x179", "16x89", "8x53")
    """Training sites x rows of each; the last one also without codes."""


@dataclass(frozen=True)
class Clinics(Settings):
    """Settings of one seed."""

    grid: Annotated[tuple[Literal["4x106", "8x53", "16x26"], ...], MinLen(1)] = ("4x106", "8x53", "16x26")
    """Training clinics x rows of each."""


@dataclass(frozen=True)
class Tags(Settings):
    """Settings of one seed."""

    boards: Annotated[tuple[Literal["cells", "digits"], ...], MinLen(1)] = ("cells", "digits")
    """Which are compared."""


@dataclass(frozen=True)
class Writers(Settings):
    """Settings of one seed."""

    boards: Annotated[tuple[Literal["as they are", "with codes"], ...], MinLen(1)] = ("as they are", "with codes")
    """Which are compared."""


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(), seeds=20)}
WEAK = {"weak": Preset(Clinics(), seeds=20)}
WARDS = {"wards": Preset(Clinics(grid=("4x106", "8x53")), seeds=20)}
TAG = {"tag": Preset(Tags(), seeds=20)}
CALIBRATION = {"calibration": Preset(Settings(), seeds=20)}
WRITERS = {"writers": Preset(Writers(), seeds=20)}

CELLS: dict[str, dict[str, Cell]] = {
    "codes": {
        **{size: {"size": size, "code": 1.0} for size in ("4x359", "8x179", "16x89", "8x53")},
        "8x53 without codes": {"size": NULL, "code": 0.0},
    },
    "weak": {size: {"size": size} for size in ("4x106", "8x53", "16x26")},
    "wards": {size: {"size": size} for size in ("4x106", "8x53")},
    "tag": {
        f"{board}, {new}": {"board": board, "new": new}
        for board in ("cells", "digits")
        for new in ("reversed", "shuffled", "as before")
    },
    "calibration": {"8x40": {"size": "8x40"}},
    "writers": {board: {"board": board} for board in ("as they are", "with codes")},
}
"""By board and title what a cell's rows have."""


def run(config: Config) -> Iterator[Row]:
    """Yield every method's score at sites with codes of their own, and at sites without."""
    some = [cell for cell in CELLS["codes"].values() if cell["size"] in config.grid]
    return compared(config, ((cell, sized(codes, config, cell["size"], float(cell["code"]))) for cell in some))


def weak(config: Clinics) -> Iterator[Row]:
    """Yield the scores where clinics are random parts of the rows: no rule can gain, and each can lose."""
    return compared(config, (({"size": size}, sized(cells.weak, config, size)) for size in config.grid))


def wards(config: Clinics) -> Iterator[Row]:
    """Yield the scores where columns say on which of eight wards a patient lay; each clinic fills them in its own way."""
    return compared(config, (({"size": size}, sized(cells.wards, config, size)) for size in config.grid))


def tag(config: Tags) -> Iterator[Row]:
    """Yield the scores where a column goes with the label, turned round at a quarter of the sites.

    New sites keep, shuffle or turn it: cells at 6 clinics of 71 rows, and noisy digits, odd or even, at 8 sites of 179.
    """
    drawn = {"cells": cells.tag, "digits": digits_tag}
    return compared(config, (({"board": name}, drawn[name](config.seed)) for name in config.boards))


def calibrated(config: Settings) -> Iterator[Row]:
    """Yield the scores where each clinic has its own share of malignant tumours and instruments of its own."""
    return compared(config, [({"size": "8x40"}, calibration(config.seed))])


def written(config: Writers) -> Iterator[Row]:
    """Yield the scores at each of three new writers of thirteen; codes stand in the corners and are each writer's own."""
    heights = {"as they are": 0.0, "with codes": 1.0}
    return compared(config, (({"board": name}, writers(config.seed, height=heights[name])) for name in config.boards))


def sized(draw: Callable[..., SiteTable], config: Settings, size: object, *more: float) -> SiteTable:
    """Return a table of so many sites x rows."""
    return draw(config.seed, *map(int, str(size).split("x")), *more)


def compared(config: Settings, tables: Iterable[tuple[Cell, SiteTable]]) -> Iterator[Row]:
    """Yield every method's score in every cell."""
    for cell, table in tables:
        yield from part(", ".join(map(str, cell.values())), scores(config, table, candidates(table), cell))
