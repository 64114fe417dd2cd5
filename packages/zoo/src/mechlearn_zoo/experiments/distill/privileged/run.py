"""A second loss that may hurt: self-distillation of small language models, a second label on digits, a body's future."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row, part
from mechlearn_zoo.experiments.distill.privileged import digits, swimmer
from mechlearn_zoo.experiments.distill.privileged.arms import Arm
from mechlearn_zoo.experiments.distill.privileged.language import fine_tune, make_board

Cell = Literal["A", "B", "helpful", "useless", "harmful", "Swimmer"]

WEIGHTS = (0.03, 0.1, 0.3, 1.0)
ARMS = (
    *(Arm("mix", weight) for weight in WEIGHTS),
    *(Arm("and-add", weight) for weight in WEIGHTS[1:]),
    Arm("half", 1.0),
    Arm("second"),
    Arm("second", kind="forward"),
    Arm("second", kind="forward", own=False),
    *(Arm("mix", weight, context="shuffled") for weight in WEIGHTS[:3]),
    *(Arm("and-add", weight, context="shuffled") for weight in WEIGHTS[2:]),
)
"""With a second loss on language; as null the contexts are other questions'."""
DIGITS = (
    Arm("label"),
    *(Arm("mix", weight) for weight in WEIGHTS),
    *(Arm("and-add", weight) for weight in WEIGHTS),
    Arm("half", 1.0),
)
SWIMMER = (
    Arm("label"),
    *(Arm("mix", weight) for weight in (1.0, 2.0, 4.0)),
    *(Arm("and-add", weight) for weight in (1.0, 2.0, 4.0)),
)
"""With the weights of the thesis' auxiliary head (table C.3)."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one seed."""

    seed: int = 100
    """First seed: of rules, questions, weights and samples. Settings were looked at on seeds from 1000 on."""
    cells: Annotated[tuple[Cell, ...], MinLen(1)] = ("A", "B")
    """Worlds of language, style or abstention; second labels of digits; a body whose future is predicted."""
    pretraining: Annotated[int, Ge(1), "a base has learned something"] = 1800
    """Steps of the base model."""
    updates: Annotated[int, Ge(1), "there is something to train"] = 150
    """Updates of each arm, on Swimmer rounds of 24. On language labels alone take 2.6 times as many, the compute of a fork."""


PRESETS = {
    "quick": Preset(Config(), seeds=16),
    "digits": Preset(Config(seed=200, cells=("helpful", "useless", "harmful")), seeds=16),
    "swimmer": Preset(Config(seed=300, cells=("Swimmer",), updates=200), seeds=10),
}


def run(config: Config) -> Iterator[Row]:
    """Yield every arm's accuracy in each cell, in points; on Swimmer its errors."""
    for cell in config.cells:
        for row in part(cell, rows_of(config, cell)):
            yield {"kind": "score", "cell": cell, **row}


def rows_of(config: Config, cell: Cell) -> Iterator[Row]:
    """Yield a cell's rows."""
    updates = config.updates
    if cell == "Swimmer":
        yield from swimmer.train_all(SWIMMER, updates, config.seed)
        return
    if cell not in ("A", "B"):
        yield from digits.train_all(cell, DIGITS, updates, config.seed)
        return
    board = make_board(cell, config.seed, config.pretraining)
    reports = updates, 2 * updates, round(2.6 * updates)
    yield from fine_tune(board, [Arm("label")], reports[-1], reports, config.seed)
    yield from fine_tune(board, ARMS, updates, reports[:1], config.seed)
