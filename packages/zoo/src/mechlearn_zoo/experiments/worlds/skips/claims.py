"""What is claimed of world models with skips; written before any recorded run.

That dreams of other boards stop every M was asked afterwards, see the earlier conditions.
"""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Greatest, Least, Measurement, Rows, bootstrap, high_below, low_above, number
from mechlearn_zoo.experiments.worlds.skips.run import METHODS

_OUTLOOK = "thesis, end of chapter 2: stochastic models, latent space; no numbers"
_FIXED = METHODS[1:]


def of_seeds(rows: Rows, key: str, method: str) -> list[float]:
    """Return a method's number in each seed that has it; none of rows without it."""
    groups = rows.where(lambda row: key in row, kind="final", method=method).by("seed").values()
    return [number(group[0], key) for group in groups if group[0][key] is not None]


def asked(rows: Rows) -> Measurement | None:
    """Return how often M with skips was asked in a dream, over that of the next frame's M, mean over seeds."""
    mine, other = (of_seeds(rows, "asked", method) for method in ("skips", "fixed-1"))
    return bootstrap(np.divide(mine, other), np.mean) if mine and len(mine) == len(other) else None


def over_the_best(rows: Rows, key: str = "accuracy") -> Measurement | None:
    """Return by how much skips are more often right than the best fixed step (by its mean over seeds), mean over seeds."""
    mine = of_seeds(rows, key, "skips")
    others = {method: of_seeds(rows, key, method) for method in _FIXED}
    if not mine or any(len(one) != len(mine) for one in others.values()):
        return None
    best = max(others.values(), key=np.mean)
    return bootstrap(np.subtract(mine, best), np.mean)


def stopped_over_the_best(rows: Rows) -> Measurement | None:
    """Return the same where validation stops each."""
    return over_the_best(rows, "stopped_accuracy")


def stopped_simpler(rows: Rows) -> Measurement | None:
    """Return what `simpler` does where validation stops both."""
    return simpler(rows, "stopped_entropy")


def simpler(rows: Rows, key: str = "entropy") -> Measurement | None:
    """Return the entropy of the predicted mixtures, less that at a step of three, mean over seeds."""
    mine, other = (of_seeds(rows, key, method) for method in ("skips", "fixed-3"))
    return bootstrap(np.subtract(mine, other), np.mean) if mine and len(mine) == len(other) else None


def less_of(key: str, other: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: by how much one number of M with skips is larger than another, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = rows.where(kind="final", method="skips")
        return bootstrap([number(row, key) - number(row, other) for row in found], np.mean) if found else None

    return measure


def over_the_commonest(rows: Rows) -> Measurement | None:
    """Return by how much skips are more often right than the commonest label, mean over seeds."""
    mine, common = of_seeds(rows, "accuracy", "skips"), rows.where(kind="vision")["commonest"]
    return bootstrap(np.subtract(mine, common), np.mean) if mine and len(mine) == len(common) else None


def read(rows: Rows) -> Measurement | None:
    """Return how often the label can be read from what V shows of true frames, mean over seeds."""
    found = rows.where(kind="vision")["read"]
    return bootstrap(found, np.mean) if found else None


CLAIMS = (
    Claim(
        id="worlds-skips.fewer-evaluations",
        text="A dream asks M with skips less often than M of the next frame.",
        source=_OUTLOOK,
        measure=asked,
        condition=high_below(0.6, of="evaluations a dream, over those of the next frame's M, mean over seeds,"),
        tried="Fixed steps of 2 and 3 pass, too, at 0.51 and 0.33 in quick: a longer step asks less often by itself. Whether "
        "dreams with fewer evaluations are right is asked by worlds-skips.accuracy.",
    ),
    Claim(
        id="worlds-skips.accuracy",
        text="Dreams with skips come to the true platform more often than those with the best fixed step of 1, 2 or 3, after "
        "equally many evaluations in training.",
        source=_OUTLOOK,
        measure=over_the_best,
        condition=low_above(0.0, of="label accuracy, less the best fixed step's, mean over seeds,"),
        tried="On seed 1000, at 60,000 evaluations: horizons of 8 and 16, exploration for 0, 300 and 600 steps, batches of 6 "
        "and 8. None came up to a step of two, the best there. Boards of two rows, whose dreams are longer, were tried first: "
        "neither V nor any M was trained well in the time that this preset has.",
    ).also_stopped(Least, stopped_over_the_best, "all"),
    Claim(
        id="worlds-skips.simpler",
        text="What M with skips predicts is simpler: its mixtures have less entropy than those three frames ahead.",
        source="thesis, chapter 2: skips should lead to simpler predictions; no number",
        measure=simpler,
        condition=high_below(0.0, of="nats a dimension, less those at a step of three, mean over seeds,"),
    ).also_stopped(Greatest, stopped_simpler),
    Claim(
        id="worlds-skips.time-known",
        text="M with skips knows how far it jumps, more than how often each jump is made.",
        source="ours",
        measure=less_of("jump", "usual_jump"),
        condition=low_above(0.0, of="log probability of the jump, less that of its frequency, mean over seeds,"),
        kind="ours",
    ),
    Claim(
        id="worlds-skips.learnt",
        text="Dreams with skips come to the true platform more often than a guess of the commonest does.",
        source="ours",
        measure=over_the_commonest,
        condition=low_above(0.0, of="label accuracy, less the commonest label's share, mean over seeds,"),
        kind="control",
    ),
    Claim(
        id="worlds-skips.seen",
        text="V shows enough of the ball for its label to be read.",
        source="ours",
        measure=read,
        condition=low_above(0.9, of="share of true falls whose label is read from V's frames, mean over seeds,"),
        kind="control",
    ),
)
