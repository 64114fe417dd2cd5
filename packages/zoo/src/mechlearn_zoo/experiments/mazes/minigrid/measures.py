"""How often a bonus leads to the goal, against acting at random."""

import numpy as np

from claimlab import EachSeed, Rows


def gain(method: str) -> EachSeed:
    """Return a measure: a method's share of episodes that reach the goal less a random agent's, last fifth of roll-outs."""

    def number(rows: Rows) -> float | None:
        ours, random = (rows.where(method=name, last=True)["reached"] for name in (method, "none"))
        return float(np.mean(ours) - np.mean(random)) if ours and random else None

    return EachSeed(number)
