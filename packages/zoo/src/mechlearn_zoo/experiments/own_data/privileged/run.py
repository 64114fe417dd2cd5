"""Columns known in training only: the vote over closed-form teachers, the same vote without them, and ridge.

Cells: ten columns, blurred, and the worst cells' ten. Digits: 4 x 4 pixels with noise, and 8 x 8 without. Pairs: two digits,
and which they are; the label is whether their sum is odd. As nulls the privileged columns are noise, or their rows are
permuted. Networks stand beside them in a cell of each table: untaught, with an auxiliary head, and taught by LDT.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import MinLen
from sklearn.linear_model import RidgeCV  # pyright: ignore[reportMissingTypeStubs]  # it has none

from claimlab import Limited, Preset, Row
from mechlearn.distill.closed_form import STRENGTHS, VotedTeachers
from mechlearn.tables.reading_in import Numbers
from mechlearn_zoo.experiments.own_data.comparing import FORMS, Known, Predict, fitted
from mechlearn_zoo.tasks.pictures.digits import CLASSES, digits_in_order
from mechlearn_zoo.tasks.tables.cells import all_cells

Cell = Literal[
    "cells 50", "cells 100", "cells 200", "digits 100", "digits 200", "pairs 150", "pairs 300",
    "cells 100 taught", "digits 200 taught", "pairs 300 taught",
]  # fmt: skip
"""A table and its number of rows; `taught` has networks alone, and LDT in every form."""
TAUGHT = ("cells 100", "digits 200", "pairs 300")
"""Cells in which there are networks: they take a hundred times as long as the vote."""
TEST = 360
"""Rows for testing, at most."""


class Board(NamedTuple):
    """Rows of a table; those for testing have no use for what is privileged.

    Attributes:
        x: (n, J).
        privileged: (n, Q).
        y: (n, K) one column of 0 and 1 a class; of two classes one.
    """

    x: Numbers
    privileged: Numbers
    y: Numbers


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one seed."""

    seed: int = 100
    """First seed: of the rows, the noise and the vote. Settings were searched from 1000 on."""
    grid: Annotated[tuple[Cell, ...], MinLen(1)] = (
        "cells 50", "cells 100", "cells 200", "digits 100", "digits 200", "pairs 150", "pairs 300",
    )  # fmt: skip
    """Tables and numbers of rows."""


PRESETS = {
    "quick": Preset(Config(), seeds=10),
    # What moves LDT: its coefficient learnt, teachers that know the label first, fresh students of teachers that have learnt.
    "forms": Preset(Config(grid=("cells 100 taught", "digits 200 taught", "pairs 300 taught")), seeds=6),
    "paper": Preset(Config(), seeds=20),
}
CELLS = {
    cell: {"cell": cell}
    for cell in ("cells 50", "cells 100", "cells 200", "digits 100", "digits 200", "pairs 150", "pairs 300")
}
FORM_CELLS = {cell: {"cell": f"{cell} taught"} for cell in TAUGHT}


def cells(rng: np.random.Generator, count: int) -> Board:
    """Draw rows of cells."""
    x, y = (values.numpy().astype(np.float64) for values in all_cells())
    rows = rng.permutation(len(x))[:count]
    return Board(x[rows, :10] + 1.5 * rng.normal(size=(len(rows), 10)), x[rows, 20:], y[rows, None])


def small_digits(rng: np.random.Generator, count: int) -> Board:
    """Draw digits, as noisy means of 2 x 2 pixels and as they are."""
    x, y = digits_in_order()
    rows = rng.permutation(len(x))[:count]
    small = torch.nn.functional.avg_pool2d(x[rows], 2).flatten(1).numpy().astype(np.float64)
    noisy = small + 0.2 * rng.normal(size=small.shape)
    return Board(noisy, x[rows].flatten(1).numpy().astype(np.float64), np.eye(CLASSES)[y[rows].numpy()])


def pairs(rng: np.random.Generator, count: int) -> Board:
    """Draw pairs of different digits."""
    x, y = digits_in_order()
    both = rng.permutation(len(x))[: 2 * count].reshape(2, -1)
    labels = y.numpy()[both]
    pixels = np.concatenate(list(x.flatten(1).numpy()[both]), 1).astype(np.float64)
    which = np.concatenate([np.eye(CLASSES)[one] for one in labels], 1)
    return Board(pixels, which, (labels.sum(0) % 2)[:, None].astype(np.float64))


BOARDS: dict[str, Callable[[np.random.Generator, int], Board]] = {"cells": cells, "digits": small_digits, "pairs": pairs}


def run(config: Config) -> Iterator[Row]:
    """Yield every method's accuracy in every cell, in points."""
    for cell in config.grid:
        name, rows, *forms = cell.split()
        count, rng = int(rows), np.random.default_rng([config.seed, *map(ord, cell)])
        board = BOARDS[name](rng, count + TEST)
        known, kind = board.privileged[:count], "linear" if name == "cells" else "kernel"
        given = {
            "vote": known,
            "vote without": None,
            "noise": rng.normal(size=known.shape),
            "permuted": known[rng.permutation(count)],
        }
        x, y = board.x[:count], board.y[:count]
        if forms:
            predictors = fitted(Known(x, known, y), config.seed, FORMS)
            yield from scores(cell, predictors, board, count)
            continue
        models: dict[str, Any] = {"ridge": RidgeCV(STRENGTHS).fit(x, y)}
        models |= {method: VotedTeachers(kind, random_state=config.seed).fit(x, y, z) for method, z in given.items()}
        predictors = {method: model.predict for method, model in models.items()}
        if cell in TAUGHT:
            predictors |= fitted(Known(x, known, y), config.seed)
        yield from scores(cell, predictors, board, count)


def scores(cell: str, predictors: Mapping[str, Predict], board: Board, count: int) -> Iterator[Row]:
    """Yield what each method scores on the rows after the first so many."""
    wanted = board.y[count:]
    for method, predict in predictors.items():
        predicted = np.asarray(predict(board.x[count:])).reshape(-1, wanted.shape[1])
        yield {"kind": "score", "cell": cell, "method": method, "score": accuracy(predicted, wanted)}


def accuracy(predicted: Numbers, wanted: Numbers) -> float:
    """Return the share of right labels, in points."""
    if wanted.shape[1] == 1:
        return 100 * float(((predicted > 0.5) == (wanted > 0.5)).mean())
    return 100 * float((predicted.argmax(1) == wanted.argmax(1)).mean())
