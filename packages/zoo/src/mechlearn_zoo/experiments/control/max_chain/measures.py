"""Episodes and steps in the trap on a chain of 40 states, by method."""

import numpy as np

from claimlab import Rows, Scalar

greatest = np.max
"""Of the seeds' numbers."""


def at(method: str) -> dict[str, Scalar]:
    """Return what a method's row of a seed holds at its end."""
    return {"kind": "final", "length": 40, "method": method}


def trap_share(rows: Rows) -> float | None:
    """Return MAX's share of steps in the trap over that of the prediction-error bonus; None where that has none."""
    ours, theirs = (rows.where(**at(method))["trapped"] for method in ("max", "prediction-error"))
    return ours[0] / theirs[0] if ours and theirs and theirs[0] > 0 else None
