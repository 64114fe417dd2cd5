"""What is claimed of the length of a step, and how it is measured."""

import numpy as np

from claimlab import Claim, Least, Measurement, Rows, bootstrap, low_above, number
from mechlearn_zoo.experiments.skips.curve.ball_motion import STATES


def best_skips(rows: Rows, state: str) -> list[int]:
    """Return, for each seed, the skip with the least rate of error."""
    groups = rows.where(state=state).by("seed").values()
    return [int(number(min(group, key=lambda row: number(row, "rate")), "skip")) for group in groups]


def _inside(rows: Rows) -> Measurement | None:
    """How much lower the least rate is than at the nearer end, in shares: the state in which that is less."""
    if not rows:
        return None
    gains: list[list[float]] = []
    for state in STATES:
        curves = [group["rate"] for group in rows.where(state=state).by("seed").values()]
        gains.append([1 - min(rates) / min(rates[0], rates[-1]) for rates in curves])
    return bootstrap(min(gains, key=lambda each: float(np.median(each))))


def _ratio(rows: Rows) -> Measurement | None:
    if not rows:
        return None
    pairs = zip(best_skips(rows, "slow"), best_skips(rows, "fast"), strict=True)
    return bootstrap([slow / fast for slow, fast in pairs])


_TRIED = (
    "The figure is a hypothesis in the thesis, drawn by hand. Nothing was searched; the condition is that of before either "
    "run. At `run skips-curve --preset paper` the least rate lies inside on five seeds of six in either state, by too "
    "little where the ball bounces; after a single step it does not (README)."
)

_UNLOOKED = ("quick", "paper")

CLAIMS = (
    Claim(
        kind="hypothesis",
        id="skips-curve.inside",
        text="The rate at which error accumulates has its minimum between the shortest and the longest skip.",
        source="thesis figure 2.1",
        measure=_inside,
        condition=low_above(
            0.02,
            of="share by which the least rate lies below both ends, in the state where that is less, median over seeds,",
        ),
        tried=_TRIED,
    ).also_stopped(Least, trainings="each network", unlooked=_UNLOOKED),
    Claim(
        kind="hypothesis",
        id="skips-curve.depends-on-state",
        text="The best skip depends on the state: it is longer where the ball bounces than where it falls.",
        source="thesis figure 2.1, caption",
        measure=_ratio,
        condition=low_above(1, of="best skip of slow states over that of fast ones, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least, trainings="each network", unlooked=_UNLOOKED),
)
