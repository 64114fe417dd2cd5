"""What is claimed of a forward model that may skip; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below, low_above

Arm = tuple[str, str]
"""The set and the model."""
_OURS = "ours; issue 'control'"
_SEARCH = "H = 4 on seeds 1000 and 1001, with this outcome; nothing else was tried."
_AT = ("skips", "skips-paper")


def coverage(rows: Rows, arm: Arm) -> list[float]:
    """Return its mean over the last fifth of the roll-outs, by seed."""
    some = rows.where(set=arm[0], model=arm[1], last=True)
    return [float(np.mean(group["coverage"])) for group in some.by("seed").values()]


def compared(how: np.ufunc, one: Arm, other: Arm) -> Callable[[Rows], Measurement | None]:
    """Return a measure: two arms' coverage put together seed by seed, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        first, second = coverage(rows, one), coverage(rows, other)
        return bootstrap(how(first, second).tolist()) if first and second else None

    return measure


CLAIMS = (
    Claim(
        id="curiosity-skips.cure",
        text="In front of it a forward model that predicts the easiest of the next frames makes it cover more of the maze.",
        source=_OURS,
        measure=compared(np.divide, ("flickering", "easiest"), ("flickering", "next")),
        condition=low_above(1.2, of="coverage of the skipping model over that of the next frame's, median over seeds,").at(
            *_AT
        ),
        kind="ours",
        tried=_SEARCH,
    ),
    Claim(
        id="curiosity-skips.ease",
        text="It is the choice of the easiest that does it: a model held to a random one of the same frames covers less.",
        source=_OURS,
        measure=compared(np.subtract, ("flickering", "easiest"), ("flickering", "any")),
        condition=low_above(0.0, of="coverage of the skipping model less that of the random skips', median over seeds,").at(
            *_AT
        ),
        kind="control",
    ),
    Claim(
        id="curiosity-skips.staying",
        text="Where the picture stays until the next press there is no easier frame to wait for, and skipping is no cure.",
        source="ours, against the cure",
        measure=compared(np.divide, ("staying", "easiest"), ("off", "easiest")),
        condition=high_below(0.5, of="its coverage with that set over that without, median over seeds,").at(*_AT),
        kind="control",
    ),
)
