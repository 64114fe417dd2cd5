"""How coordinates are measured: by scores at held-out places, with them and without.

Printed numbers were written from memory. Perfect generalisation and 10 to 100 times fewer parameters were later found in the
abstract, 86 % in the authors' page (https://eng.uber.com/coordconv, figure 4); the others are unchecked.
"""

import numpy as np

from claimlab import EachSeed, Rows

PAINTS = 0.1
"""Share of pictures with a square above which a GAN is said to paint them."""


def pointed(rows: Rows) -> float | None:
    """Return the share of held-out pixels that are hit with coordinates, the lower of both splits."""
    found = rows.where(kind="final", task="point", network="coordinates")["test"]
    return min(found) if len(found) > 1 else None


def best(rows: Rows, task: str, division: str) -> float | None:
    """Return the best test score of one seed's network without coordinates, of all looks and the end; None without looks."""
    some = rows.where(task=task, division=division, network="plain")
    looks, end = some.where(kind="curve")["score"], some.where(kind="final")["test"]
    return (min if task == "find" else max)(*looks, *end) if looks and end else None


def best_plain(task: str, division: str) -> EachSeed:
    """Return a measure: that score, median over seeds."""
    return EachSeed(lambda rows: best(rows, task, division), np.median)


def gain_over_best(task: str, division: str) -> EachSeed:
    """Return a measure: the test score with coordinates at the end less that best one without, median over seeds."""

    def gain(rows: Rows) -> float | None:
        ours = rows.where(kind="final", task=task, division=division, network="coordinates")["test"]
        other = best(rows, task, division)
        return ours[0] - other if ours and other is not None else None

    return EachSeed(gain, np.median)


def fewest_squares(rows: Rows) -> float | None:
    """Return the share of pictures with a square, the lower of both GANs."""
    shares = rows.where(kind="gan")["squares"]
    return min(shares) if len(shares) > 1 else None


def covered(rows: Rows) -> float | None:
    """Return a GAN's share of places with coordinates less without, of a seed on which both paint squares."""
    if (fewest_squares(rows) or 0.0) <= PAINTS:
        return None
    with_them, without = (rows.where(kind="gan", network=network)["covered"][0] for network in ("coordinates", "plain"))
    return with_them - without
