"""What the claims of skips on small trajectories measure."""

from collections.abc import Collection

import numpy as np

from claimlab import EachSeed, Measure, Rows, number
from mechlearn_zoo.experiments.own_data.measures import mean_of, share
from mechlearn_zoo.experiments.own_data.trajectories.run import CLOCKED, MOTIONS

__all__ = ["CLOCKED", "MOTIONS", "mean_of", "share"]

FIXED = ("fixed steps", "one step all the way")


def below_fixed(method: str, boards: Collection[str]) -> Measure:
    """Return a measure: by how many per cent a method's error is below the best fixed step's, on trajectories to come.

    Each has the setting that was chosen for it beforehand; of the two kinds of fixed steps the better one counts. A seed's mean
    over the boards is a unit of the interval.
    """

    def saved(rows: Rows) -> float | None:
        found = [one for board in boards if (one := _saved(rows.where(kind="error", board=board), method)) is not None]
        return float(np.mean(found)) if found else None

    return EachSeed(saved)


def _saved(rows: Rows, method: str) -> float | None:
    errors = {str(row["method"]): number(row, "true") for row in rows}
    if not {method, *FIXED} <= set(errors):
        return None
    return 100 * (1 - errors[method] / min(errors[name] for name in FIXED))
