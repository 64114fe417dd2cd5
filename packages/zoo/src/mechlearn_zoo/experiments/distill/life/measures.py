"""What is measured of the four teachers."""

import numpy as np

from claimlab import EachSeed, Rows, number
from mechlearn_zoo.experiments.distill.measured import best_of_seeds


def best_trials(rows: Rows, method: str, count: int) -> Rows:
    """Return for each seed the trial that is best on held-out boards."""
    return best_of_seeds(rows.where(method=method, examples=count), "selection", max)


def advantage(method: str, over: str) -> EachSeed:
    """Return a measure: a method's test accuracy minus another's, or minus the majority's; the median over seeds.

    Of each seed the mean over numbers of boards.
    """
    return EachSeed(lambda rows: _gain(rows, method, over), np.median)


def share_of_oracle(method: str, over: str) -> EachSeed:
    """Return a measure: a method's gain on another, or on the majority, as a share of the oracle's student's gain.

    The median over the seeds on which the oracle's student gains.
    """

    def share(rows: Rows) -> float | None:
        gain, oracle = _gain(rows, method, over), _gain(rows, "oracle", over)
        return gain / oracle if gain is not None and oracle is not None and oracle > 0 else None

    return EachSeed(share, np.median)


def _gain(rows: Rows, method: str, over: str) -> float | None:
    found: list[float] = []
    for count in sorted({int(number(row, "examples")) for row in rows}):
        mine = best_trials(rows, method, count)
        other = mine["majority"] if over == "majority" else best_trials(rows, over, count)["selected"]
        if not mine or not other:
            return None
        found.append(mine["selected"][0] - other[0])
    return float(np.mean(found))


def loss_tells(rows: Rows) -> float | None:
    """Return one seed's test accuracy of the start of least validation loss, less the mean over its starts."""
    starts = rows.where(lambda row: row.get("validation_loss") is not None, method="meta")
    if not starts:
        return None
    chosen = min(starts, key=lambda row: number(row, "validation_loss"))
    return number(chosen, "by_validation") - float(np.mean(starts["by_validation"]))
