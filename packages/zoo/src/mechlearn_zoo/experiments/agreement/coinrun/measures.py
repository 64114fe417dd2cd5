"""How cloning with the temporal AND-mask is measured: divergences, and settings of the best trials."""

import numpy as np

from claimlab import EachSeed, Rows
from mechlearn_zoo.experiments.agreement.coinrun.run import METHODS


def reduction(key: str) -> EachSeed:
    """Return a measure: how much less the AND-mask's divergence is than Adam's, as a share of Adam's; median over seeds.

    Each is the mean over a method's finalists, as figure 3.12 has it over runs.
    """

    def saved(rows: Rows) -> float | None:
        adam, masked = (rows.where(kind="finalist", method=method)[key] for method in METHODS)
        return 1 - float(np.mean(masked)) / float(np.mean(adam)) if adam and masked else None

    return EachSeed(saved, np.median)


def decoupled(rows: Rows) -> float | None:
    """Return the share of a method's finalists whose weight decay is decoupled, the lesser of the two methods'."""
    shares = [rows.where(kind="finalist", method=method)["decoupled"] for method in METHODS]
    return min(float(np.mean(share)) for share in shares) if all(shares) else None


def within_range(key: str, low: float, high: float) -> EachSeed:
    """Return a measure: the share of the AND-mask's finalists with a setting in a range, mean over seeds."""

    def share(rows: Rows) -> float | None:
        found = rows.where(kind="finalist", method="and-mask")[key]
        return float(np.mean([low <= value <= high for value in found])) if found else None

    return EachSeed(share)


def decoupling(rows: Rows) -> float | None:
    """Return by how much the best trial with decoupled decay is ahead on held-out levels, the lesser of the two methods'.

    None for a seed on which a method lacks trials with either decay.
    """
    found: list[float] = []
    for method in METHODS:
        trials = rows.where(kind="trial", method=method)
        coupled, own = (trials.where(decoupled=one)["validation"] for one in (False, True))
        if not coupled or not own:
            return None
        found.append(min(coupled) - min(own))
    return min(found)
