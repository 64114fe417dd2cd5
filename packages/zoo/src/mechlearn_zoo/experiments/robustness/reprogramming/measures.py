"""How programs are measured: by a frozen host's accuracy with them, beside other hosts' and a bias's."""

import numpy as np

from claimlab import OverSeeds, Paired, Rows, Scalar


def gain(task: str) -> OverSeeds:
    """Return a measure: a trained convolutional host's accuracy with its program less that without, mean over seeds."""
    return OverSeeds("accuracy", {"kind": "host", "host": "cnn", "state": "trained", "task": task}, np.mean, less="without")


def trained_over(state: str, host: str) -> Paired:
    """Return a measure: the accuracy on digits of a trained host's program less that of one in another state, mean."""
    digits = {"kind": "host", "host": host, "task": "digits"}
    return Paired("accuracy", digits | {"state": "trained"}, digits | {"state": state}, np.mean)


def over_bias(rows: Rows) -> float:
    """Return the largest accuracy of a linear host above that of the best bias, over tasks and states."""
    found = rows.where(kind="host", host="linear")
    return float(np.max(np.subtract(found["accuracy"], found["bias"])))


def shift(rows: Rows) -> float:
    """Return how much a program's effect on logits differs between pictures, over its size, at most, for linear hosts."""
    return max(rows.where(kind="host", host="linear")["shift"])


def added(rows: Rows) -> float | None:
    """Return how much accuracy on digits a program adds to the trained residual host."""
    found = rows.where(kind="residual", state="trained")
    return found["accuracy"][0] - found["without"][0] if found else None


def residual(state: str) -> dict[str, Scalar]:
    """Return what a residual host's row holds."""
    return {"kind": "residual", "state": state}
