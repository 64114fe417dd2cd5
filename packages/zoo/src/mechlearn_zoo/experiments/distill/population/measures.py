"""What is measured of a teacher that several students have trained, on students that it has not met."""

import numpy as np

from claimlab import EachSeed, Rows


def gain(method: str, over: str, unseen: str = "initialisation", key: str = "selected") -> EachSeed:
    """Return a measure: test accuracy under one teacher minus under another, mean over fresh students and seeds.

    Args:
        method: whose teacher.
        over: whose it is compared with.
        unseen: what the fresh students have that the teacher has not met, "initialisation" or "width".
        key: the accuracy's column: "selected", or "young".
    """

    def difference(rows: Rows) -> float | None:
        mine, other = (rows.where(method=one, unseen=unseen) for one in (method, over))
        return float(np.mean(mine[key]) - np.mean(other[key])) if mine and other else None

    return EachSeed(difference)
