"""What is claimed of planning to explore; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, above, at_most, bootstrap, high_below, low_above

_SOURCE = "Shyam et al. 2019, by the reading digest; chain and numbers ours"


def at(length: int, method: str, key: str) -> Callable[[Rows], list[float]]:
    """Return a reader of one number of one method's end, a seed each."""
    return lambda rows: rows.where(kind="final", length=length, method=method)[key]


def slowest(rows: Rows) -> Measurement | None:
    """Return the most episodes that MAX needed at N = 40 in any seed."""
    found = at(40, "max", "episodes")(rows)
    return bootstrap(found, np.max) if found else None


def times(method: str, rows: Rows) -> Measurement | None:
    """Return how many times the episodes of MAX another method needed at N = 40 (at least, if it did not end), median."""
    ours, theirs = at(40, "max", "episodes")(rows), at(40, method, "episodes")(rows)
    return bootstrap([b / a for a, b in zip(ours, theirs, strict=True)]) if ours else None


def trap_share(rows: Rows) -> Measurement | None:
    """Return MAX's share of steps in the trap over that of the prediction-error bonus at N = 40, median over seeds."""
    ours, theirs = at(40, "max", "trapped")(rows), at(40, "prediction-error", "trapped")(rows)
    found = [a / b for a, b in zip(ours, theirs, strict=True) if b > 0]
    return bootstrap(found) if found else None


def furthest(rows: Rows) -> Measurement | None:
    """Return the largest distance of closed form and sampling, in standard errors, over seeds."""
    found = rows.where(kind="closed-form")["errors"]
    return bootstrap(found, np.max) if found else None


CLAIMS = (
    Claim(
        id="max-chain.complete",
        text="Planning on disagreement sees every transition within a few episodes.",
        source=_SOURCE,
        printed="complete in about 15 of 60 episodes (from memory, unchecked)",
        measure=slowest,
        condition=at_most(10, of="most episodes in any seed, N = 40,"),
        tried="On seeds 1000 to 1002, priors of weight 0.1, 0.01 and 0.001: about twice as many episodes with the first.",
    ),
    Claim(
        id="max-chain.faster",
        text="It needs a fraction of the episodes of a reactive count bonus.",
        source=_SOURCE,
        measure=lambda rows: times("bonus", rows),
        condition=low_above(3.0, of="episodes of the bonus over those of MAX, N = 40, median over seeds,"),
    ),
    Claim(
        id="max-chain.order-of-magnitude",
        text="It is at least an order of magnitude more efficient.",
        source=_SOURCE,
        printed="at least an order of magnitude (from memory, unchecked)",
        measure=lambda rows: times("bonus", rows),
        condition=above(10.0, of="episodes of the bonus over those of MAX, N = 40, median over seeds,"),
        tried="The reactive baseline starts optimistically and replays ten transitions a step.",
    ),
    Claim(
        id="max-chain.bootstrap",
        text="Bootstrapped heads need many times its episodes.",
        source=_SOURCE,
        measure=lambda rows: times("bootstrap", rows),
        condition=low_above(3.0, of="episodes of bootstrapped Q over those of MAX, at most 60, N = 40, median over seeds,"),
    ),
    Claim(
        id="max-chain.trap",
        text="Noise that nobody can predict does not hold it, while a bonus for prediction error stays there.",
        source=_SOURCE,
        measure=trap_share,
        condition=high_below(1 / 3, of="share of steps in the trap, MAX over prediction error, N = 40, median over seeds,"),
    ),
    Claim(
        id="max-chain.closed-form",
        text="Jensen and Renyi's divergence in closed form is what sampling finds.",
        source="ours; the equation of section 3.2",
        measure=furthest,
        condition=at_most(4.0, of="largest distance in standard errors over seeds,"),
        kind="control",
    ),
)
