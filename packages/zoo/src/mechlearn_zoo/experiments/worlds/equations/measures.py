"""How networks of formulas are measured: by their errors outside of the training range, beside others'."""

import numpy as np

from claimlab import EachSeed, Paired, Rows, number

LEARNT = 0.9
"""An error inside of the range, as a share of the answers' variance, below which something has been learnt."""


def ratio(ours: str, theirs: str) -> Paired:
    """Return a measure: the error outside of the range in one arm over that in another, median over seeds."""
    return Paired("outside", {"arm": ours, "network": "equations"}, {"arm": theirs, "network": "equations"}, over=True)


def over_learnt(arm: str, key: str = "outside") -> EachSeed:
    """Return a measure: the error outside of the range over the lesser of the perceptron's and a constant's, which is 1.

    The median over seeds on which the perceptron has learnt something. That is read at its end, so that the error at the end
    and the stopped one are compared on the same seeds.
    """

    def error(rows: Rows) -> float | None:
        ours, theirs = (rows.where(lambda row: key in row, arm=arm, network=name) for name in ("equations", "perceptron"))
        if not (ours and theirs and number(theirs[0], "inside") < LEARNT):
            return None
        return number(ours[0], key) / min(number(theirs[0], key), 1.0)

    return EachSeed(error, np.median)
