"""What is claimed of skips on small trajectories; written before any of them was asked."""

from collections.abc import Sequence

import numpy as np

from claimlab import (
    Claim,
    Greatest,
    Least,
    Measure,
    Measurement,
    Rows,
    at_most,
    bootstrap,
    high_below,
    low_above,
    number,
)
from mechlearn_zoo.experiments.own_data.measures import SOURCE, mean_of, share
from mechlearn_zoo.experiments.own_data.trajectories.run import CLOCKED, MOTIONS

FIXED = ("fixed steps", "one step all the way")
TRIED = "Written before any of these trajectories was asked; no setting was searched on them."
_STREAMS = (
    f"{TRIED} Of a record before, whose trajectories to come were drawn from the known ones' stream of random numbers, "
    "{} on the same seeds."
)


def below_fixed(method: str, boards: Sequence[str]) -> Measure:
    """Return a measure: by how many per cent a method's error is below the best fixed step's, on trajectories to come.

    Each has the setting that was chosen for it beforehand; of the two kinds of fixed steps the better one counts. A seed's mean
    over the boards is a unit of the interval.
    """

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for seed in rows.where(kind="error").by("seed").values():
            gains = [_gain(seed.where(board=board), method) for board in boards]
            kept = [gain for gain in gains if gain is not None]
            if kept:
                found.append(float(np.mean(kept)))
        return bootstrap(found, np.mean) if found else None

    return measure


def _gain(rows: Rows, method: str) -> float | None:
    errors = {str(row["method"]): number(row, "true") for row in rows}
    if method not in errors or not {*FIXED} <= set(errors):
        return None
    return 100 * (1 - errors[method] / min(errors[name] for name in FIXED))


CLAIMS = (
    Claim(
        id="own-data-trajectories.nulls",
        text="Where a motion goes by a clock 'helps' is said of at most 8 in 100 sets of trajectories.",
        source=SOURCE,
        measure=share("helps", CLOCKED),
        condition=at_most(0.08, of="share of sets of which it is said"),
        kind="ours",
        tried=TRIED,
    ),
    Claim(
        id="own-data-trajectories.true",
        text="What is said to help does: its error is below the fixed step's on trajectories to come.",
        source=SOURCE,
        measure=mean_of("true", tuple(MOTIONS), lambda row: row["word"] == "helps"),
        condition=low_above(0.0, of="per cent of the error, mean over seeds in which 'helps' was said,"),
        kind="ours",
        tried=_STREAMS.format("4.18"),
    ).also_stopped(Least),
    Claim(
        id="own-data-trajectories.plain",
        text="Adaptive skips as in the thesis are not below the best fixed step, over all four motions.",
        source=f"{SOURCE}; a claim against the thesis' method",
        measure=below_fixed("adaptive skips", tuple(MOTIONS)),
        condition=high_below(0.0, of="per cent of the error on trajectories to come, mean over seeds,"),
        kind="ours",
        tried=f"{_STREAMS.format('-31.2 [-35.8, -26.5]')} At the ends it is -32.0 [-37.7, -27.0], where validation stops both "
        "-1.3 [-2.8, 0.1].",
    ).also_stopped(Greatest),
    Claim(
        id="own-data-trajectories.learnt",
        text="Fixed steps learn something: on a clock their error is below that of a world that stands still.",
        source=SOURCE,
        measure=below_fixed("standing still", CLOCKED),
        condition=high_below(-30.0, of="per cent that standing still is below fixed steps, mean over seeds,"),
        kind="control",
        tried=_STREAMS.format("-153 [-156, -151]"),
    ),
)
