"""What is claimed of the number of environments."""

import numpy as np

from craik.lab import Claim, OverSeeds
from craik.lab.conditions import at_least, below

SUCCESS = 0.9
"""Test accuracy from which on a run has found the spirals; chance is 0.5."""

_SOURCE = "thesis appendix B.2.4 and figure B.6; paper figure 15"


def best(method: str, count: int) -> OverSeeds:
    """Return the measure of a method's best test accuracy over seeds, as the texts report it."""
    return OverSeeds("test_accuracy", {"method": method, "environments": count}, statistic=np.max)


CLAIMS = (
    Claim(
        id="spiral-environments.mean-1024",
        text="With averaged gradients the network switches from the shortcuts to the mechanism at 1024 environments.",
        source=_SOURCE,
        printed="succeeds",
        measure=best("mean", 1024),
        condition=at_least(SUCCESS, of="best test accuracy over seeds at 1024 environments"),
    ),
    Claim(
        id="spiral-environments.mean-256",
        text="With a quarter of them, 256, it does not.",
        source=_SOURCE,
        printed="fails",
        measure=best("mean", 256),
        condition=below(SUCCESS, of="best test accuracy over seeds at 256 environments"),
    ),
    Claim(
        id="spiral-environments.mask-16",
        text="With the AND-mask a handful of environments is enough.",
        source=_SOURCE,
        printed="succeeds",
        measure=best("and-mask", 16),
        condition=at_least(SUCCESS, of="best test accuracy over seeds at 16 environments"),
    ),
)
