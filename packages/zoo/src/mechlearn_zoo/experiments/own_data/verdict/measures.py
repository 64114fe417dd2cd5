"""What the claims of verdicts measure."""

import numpy as np

from claimlab import Measure, Row, Rows
from mechlearn.tables.comparing import POOLED
from mechlearn_zoo.experiments.own_data.measures import extreme, mean_of, share
from mechlearn_zoo.experiments.own_data.verdict.run import BOARDS, GAINFUL, NULLS, RARE, TAGGED
from mechlearn_zoo.experiments.own_data.verdict.run import TAUGHT as TAUGHT_BOARD

__all__ = ["BOARDS", "GAINFUL", "NULLS", "RARE", "TAGGED", "TAUGHT", "mean_of", "share"]

TAUGHT = (TAUGHT_BOARD,)

TRUE = 5.0
"""Points that a gain at sites to come must have to count as one that should be seen."""


def worst(key: str) -> Measure:
    """Return a measure: the mean over seeds of a number of the verdicts, on the board whose mean over seeds is least."""
    return extreme([mean_of(key, (board,)) for board in BOARDS])


def can_gain(rows: Rows, row: Row) -> bool:
    """Return whether some method that compares sites gains `TRUE` points on the best pooled model at sites to come."""
    gains = rows.where(kind="gain", board=row["board"])
    pooled, others = (
        max(gains.where(lambda one, of=of: (one["method"] in POOLED) == of)["true"], default=-np.inf) for of in (True, False)
    )
    return others - pooled >= TRUE
