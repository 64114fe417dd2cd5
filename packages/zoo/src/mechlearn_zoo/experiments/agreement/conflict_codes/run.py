"""Digits with a code of the site's own, and what each rule makes of them at a site with another code, by rows a site.

The phase diagram: with few rows a test cannot establish anything and averages, with many it drops what the sites disagree on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row
from mechlearn_zoo.experiments.agreement.conflict_codes.tables import Sites, table, train
from mechlearn_zoo.learners.shortcuts.methods import METHODS

COMPARED = (
    "mean", "and-mask", "qualitative", "qualitative-decay", "homogeneous", "homogeneous-decay", "heterogeneous", "input-decay",
)  # fmt: skip


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of everything that is drawn."""
    sites: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (3, 8)
    """Numbers of training sites."""
    rows: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (16, 128)
    """Rows of each; a step draws at most 64 of them."""


PRESETS = {
    "quick": Preset(Config(), seeds=20),
    "paper": Preset(Config(sites=(2, 3, 4, 8), rows=(8, 16, 32, 64, 128)), seeds=20),
}


def run(config: Config) -> Iterator[Row]:
    """Yield the accuracies at a new site, at the end and where validation stops."""
    for count in config.sites:
        for rows in config.rows:
            board = Sites(seed=config.seed, sites=count, rows=rows, batch=min(64, rows))
            data = table(board)
            for name in COMPARED:
                ends = train(board, data, METHODS[name])
                yield {"kind": "final", "sites": count, "rows": rows, "method": name, **ends}
