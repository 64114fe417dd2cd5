"""Coverage with a forward model that may skip; medians over seeds."""

import numpy as np

from claimlab import EachSeed, Rows

Arm = tuple[str, str]
"""The set and the model."""


def compared(one: Arm, other: Arm, over: bool = False) -> EachSeed:
    """Return a measure: an arm's coverage, mean over the last fifth of the roll-outs, less another's.

    Args:
        one: the arm.
        other: the other.
        over: divide by the other's, instead of taking it away.
    """

    def number(rows: Rows) -> float | None:
        found = [rows.where(set=arm[0], model=arm[1], last=True)["coverage"] for arm in (one, other)]
        if not all(found):
            return None
        ours, theirs = (float(np.mean(some)) for some in found)
        return ours / theirs if over else ours - theirs

    return EachSeed(number, np.median)
