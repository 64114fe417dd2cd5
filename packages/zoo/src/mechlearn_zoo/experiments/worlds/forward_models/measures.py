"""How forward models are measured: by the share of next actions that they put first, and by what their edges foretell."""

import numpy as np

from claimlab import EachSeed, OverSeeds, Rows, Scalar


def over_best(other: str) -> EachSeed:
    """Return a measure: the relational model's accuracy at its end less another's, median over seeds.

    The other's is the best of its looks and its end: early stopping that errs in its favour.
    """

    def difference(rows: Rows) -> float | None:
        ours = rows.where(kind="final", model="relational")
        theirs = rows.where(lambda row: row["kind"] in ("curve", "final"), model=other)
        return ours["accuracy"][0] - max(theirs["accuracy"]) if ours and theirs else None

    return EachSeed(difference, np.median)


def less(key: str, other: str, **values: Scalar) -> OverSeeds:
    """Return a measure: a number of a seed's row less another of the same row, median over seeds."""
    return OverSeeds(key, values, less=other)


def new_teammates(key: str = "new") -> EachSeed:
    """Return a measure: the AND-mask's accuracy on new teams less the better of two others, median over seeds.

    These are averaging's, and repeating each agent's last move, which is read on hunts without habits.
    """

    def difference(rows: Rows) -> float | None:
        some, last = rows.where(lambda row: key in row, kind="teams"), rows.where(kind="persistence")["accuracy"]
        ours, theirs = (some.where(rule=rule)[key] for rule in ("AND-mask", "averaging"))
        return ours[0] - max(theirs[0], last[0]) if ours and theirs and last else None

    return EachSeed(difference, np.median)
