"""Numbers of one seed's exact gradient ascent, with and without entropy."""

import numpy as np

from claimlab import Rows

RATE = 10.0
"""The learning rate at which traps are counted, as in the presets."""


def trapped(rows: Rows) -> float | None:
    """Return the share of starts that plain ascent leaves below 0.95 of the best."""
    some = rows.where(kind="share", world="trap", tau=0.0, rate=RATE)
    return 1 - some["share"][0] if some else None


def helps(rows: Rows) -> float | None:
    """Return the share of starts at the optimum with the best tau above 0 less that without entropy."""
    some = rows.where(kind="share", world="trap", rate=RATE)
    if not some:
        return None
    with_entropy = [share for share, tau in zip(some["share"], some["tau"], strict=True) if tau > 0]
    return max(with_entropy) - some.where(tau=0.0)["share"][0]


def longer_steps(world: str, rows: Rows) -> float | None:
    """Return log10 of how much larger a rate solves every start with the best tau above 0 than without.

    Where no rate does without entropy, a tenth of the least rate replaces it.
    """
    some = rows.where(kind="share", world=world)
    if not some:
        return None
    least, solved = min(some["rate"]) / 10, some.where(share=1.0)
    largest = {tau: max(solved.where(tau=tau)["rate"], default=least) for tau in set(some["tau"])}
    return float(np.log10(max(rate for tau, rate in largest.items() if tau > 0) / largest[0.0]))


def connects(rows: Rows) -> float | None:
    """Return the mean barrier at the least tau above 0 as a share of that without entropy."""
    without, least = rows.where(kind="barrier")["barrier"][:2] or (0.0, 0.0)
    return least / without if without > 0 else None
