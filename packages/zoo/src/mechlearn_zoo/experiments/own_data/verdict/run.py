"""Verdicts on small tables of eight sites, each site left out once, and what came true at twenty sites to come.

A seed draws a table of each board: three nulls, two on which sites differ in what can be left out, and one on which whoever
leaves it out loses. A table is asked as `mechlearn fit agreement` asks one, and what each candidate makes of all of its sites
is judged on 2,000 rows of sites to come. Or it is asked as `mechlearn fit distill` asks one, with noise as privileged columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row
from mechlearn.tables.candidates import Candidate
from mechlearn.tables.comparing import compare_table, named
from mechlearn.tables.distilling.comparing import UNTAUGHT, Asked, compare_taught
from mechlearn.tables.distilling.students import TRAINING
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import prepare
from mechlearn.tables.reports.sites import to_keep
from mechlearn.tables.verdict import judge
from mechlearn_zoo.experiments.own_data.comparing import table_of
from mechlearn_zoo.experiments.own_data.verdict.coming import (
    coded_digits_to_come,
    plain_cells,
    plain_digits,
    rare_cells,
    signed_cells,
    tagged_cells,
)
from mechlearn_zoo.tasks.tables import SiteTable

Board = Literal[
    "plain cells", "plain digits", "rare cells", "signed cells", "coded digits", "tagged cells", "rare cells taught"
]
BOARDS = {
    "plain cells": plain_cells,
    "plain digits": plain_digits,
    "rare cells": rare_cells,
    "signed cells": signed_cells,
    "coded digits": coded_digits_to_come,
    "tagged cells": tagged_cells,
}
TAUGHT = "rare cells taught"
"""The board of `mechlearn fit distill`."""
NULLS, RARE = ("plain cells", "plain digits"), ("rare cells",)
GAINFUL, TAGGED = ("signed cells", "coded digits"), ("tagged cells",)

NOISE = 4
"""Privileged columns that say nothing."""

METHODS = ("pooled linear", "pooled network", "screening", "AND-mask", "Cochran's Q")
"""What `mechlearn fit agreement` compares without pooled boosting, which takes longest: one simple candidate less to beat."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one seed."""

    seed: int = 300
    """First seed: of the tables, the inner folds, the initial weights and the batches."""
    boards: Annotated[tuple[Board, ...], MinLen(1)] = (
        "plain cells", "plain digits", "rare cells", "signed cells", "coded digits", "tagged cells",
    )  # fmt: skip
    """Which are drawn, a table each."""
    hidden: Annotated[int, Ge(0)] = 16
    """Hidden units of the networks, 0 for a linear one; `mechlearn fit` has 32."""
    steps: Annotated[int, Ge(1)] = 60
    """Optimiser steps of the networks at most; `mechlearn fit` takes 120."""
    rows: Annotated[int, Ge(2)] = 32
    """Rows of each site in a step; `mechlearn fit` takes 64."""


PRESETS = {
    "quick": Preset(Config(), seeds=50),
    "taught": Preset(Config(boards=(TAUGHT,)), seeds=40),
    "paper": Preset(Config(hidden=32, steps=120, rows=64), seeds=50),
}


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each board's verdict, and one for each method's gain as it was said and as it came true."""
    training = Training(hidden=config.hidden, steps=config.steps, rows_per_site=config.rows)
    for name in config.boards:
        if name == TAUGHT:
            yield from taught(rare_cells(config.seed), training, config.seed)
        else:
            yield from asked(name, BOARDS[name](config.seed), training, config.seed)


def asked(name: str, board: SiteTable, training: Training, seed: int) -> Iterator[Row]:
    """Ask a table for its verdict, and the sites to come what is true.

    Args:
        name: of the board.
        board: with sites to come as its new ones; sites named "turned" are trained on, not judged.
        training: of the networks.
        seed: of everything random.
    """
    candidates: dict[str, Candidate] = named(METHODS)
    kept = board.trained_on
    table = prepare(board.x[kept].double().numpy(), board.y[kept].numpy(), _names(board)[kept.numpy()], "classification")
    judged = np.array([not site.startswith("turned") for site in table.sites])
    found = compare_table(replace(table, judged=table.judged & judged), candidates, training, seed)
    truth = compare_table(table_of(board), candidates, training, seed, new=board.new).scores
    pooled = float(np.mean(truth["pooled network"]))
    yield {
        "kind": "verdict",
        "board": name,
        "word": found.verdict.word,
        "method": found.verdict.method,
        "said": found.verdict.gain,
        "true": float(np.mean(truth[found.verdict.method])) - float(np.mean(truth[found.verdict.against])),
        "kept": to_keep(found),
        "kept true": float(np.mean(truth[to_keep(found)])) - pooled,
    }
    for method, scores in found.scores.items():
        said = float(np.mean(scores)) - float(np.mean(found.scores["pooled network"]))
        true = float(np.mean(truth[method])) - pooled
        yield {"kind": "gain", "board": name, "method": method, "said": said, "true": true}


def taught(board: SiteTable, training: Training, seed: int) -> Iterator[Row]:
    """Ask whether columns of noise, known in training only, help; the row is of the candidate that helps, or gains most."""
    kept = board.trained_on.numpy()
    table = prepare(board.x.double().numpy()[kept], board.y.numpy()[kept], _names(board)[kept], "classification")
    noise = np.random.default_rng(seed).standard_normal((len(table.x), NOISE))
    found = compare_taught(Asked(table, [noise], seed, replace(TRAINING, hidden=training.hidden, steps=training.steps)))
    simple = [name for name in UNTAUGHT if name in found.scores]
    verdicts = [judge(found.scores, name, simple, found.overlap, found.errors) for name in found.scores if name not in simple]
    told = max(verdicts, key=lambda one: (one.word == "helps", one.gain))
    yield {"kind": "verdict", "board": TAUGHT, "word": told.word, "method": told.method, "said": told.gain}


def _names(board: SiteTable) -> np.ndarray:
    return np.array(board.sites)[board.site.numpy()]
