"""How invented symbols are measured: by how near agents get with a channel, beside without any, and in bits."""

import numpy as np

from claimlab import EachSeed, Paired, Rows


def over_best(channel: str, kind: str = "final", curve: str = "curve") -> EachSeed:
    """Return a measure: the distance at the end with a channel, over the least without any at a look or at the end; median.

    Args:
        channel: what is trained with it.
        kind: of rows at the end.
        curve: the kind of rows on the way. Those of three agents are of all goals, agents' own as well, which are the nearer.
    """

    def ratio(rows: Rows) -> float | None:
        ends, looks = rows.where(kind=kind, exchanged=False), rows.where(kind=curve, channel="none")["distance"]
        ours, others = (ends.where(channel=name)["distance"] for name in (channel, "none"))
        return ours[0] / min(*looks, *others) if ours and others and looks else None

    return EachSeed(ratio, np.median)


def over_best_of_three(channel: str) -> EachSeed:
    """Return the same of three agents' distance to goals that another agent is told."""
    return over_best(channel, "three", "curve of three")


def over_none(channel: str, kind: str = "final", key: str = "distance", exchanged: bool = False) -> Paired:
    """Return a measure: a distance at the end with a channel over that without any, median over seeds.

    Args:
        channel: what is trained with it.
        kind: of rows, "three" for three agents.
        key: of the distance; "held_out" is that to goals of the pair that training lacks.
        exchanged: whether what comes by the channel is of another episode.
    """
    ours, theirs = {"channel": channel, "exchanged": exchanged}, {"channel": "none", "exchanged": False}
    return Paired(key, {"kind": kind, **ours}, {"kind": kind, **theirs}, over=True)


def grounded(rows: Rows) -> float | None:
    """Return the bits that the last symbol says of the colour, over the colour's entropy."""
    found = rows.where(kind="final", channel="symbols", exchanged=False)
    return found["bits"][0] / found["entropy"][0] if found else None
