"""What is claimed of the number of environments."""

import numpy as np

from craik.lab import Claim, OverSeeds, at_least, below

SUCCESS = 0.9
"""Test accuracy from which on a run has found the spirals; chance is 0.5."""


def best(method: str, count: int) -> OverSeeds:
    """Return the measure of a method's best test accuracy over seeds, as the texts report it."""
    return OverSeeds("test_accuracy", {"method": method, "environments": count}, statistic=np.max)


def claim(name: str, text: str, measure: OverSeeds, succeeds: bool = True) -> Claim:
    """Return the claim that the best run succeeds, or that it fails."""
    of = f"best test accuracy over seeds at {measure.values['environments']} environments"
    return Claim(
        id=f"spiral-environments.{name}",
        text=text,
        source="thesis appendix B.2.4 and figure B.6; paper figure 15",
        printed="succeeds" if succeeds else "fails",
        measure=measure,
        condition=at_least(SUCCESS, of=of) if succeeds else below(SUCCESS, of=of),
    )


CLAIMS = (
    claim(
        "mean-1024",
        "With averaged gradients the network switches from the shortcuts to the mechanism at 1024 environments.",
        best("mean", 1024),
    ),
    claim("mean-512", "With half of them, 512, it does not: 1024 is the first to succeed.", best("mean", 512), succeeds=False),
    claim("mean-256", "With a quarter of them, 256, it does not.", best("mean", 256), succeeds=False),
    claim("mask-16", "With the AND-mask a handful of environments is enough.", best("and-mask", 16)),
)
