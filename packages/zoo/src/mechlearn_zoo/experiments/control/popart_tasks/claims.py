"""What is claimed of tasks of different scale; written before any recorded run.

That the other method may stop early was asked afterwards, of the same rows, see each claim's earlier condition.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from claimlab import (
    EARLY_STOPPING,
    Claim,
    Condition,
    Greatest,
    Measure,
    Measurement,
    Rows,
    above,
    bootstrap,
    high_at_most,
    high_below,
    low_above,
)
from mechlearn_zoo.experiments.control.popart_tasks.run import PRIZES

LAST = 3
"""Reports at the end of which the mean counts."""


Key = Literal["mean", "worst", "prizes", "plain"]
"""Of the tasks' scores: their mean, the least, the mean of those with prizes or of those without."""


def end(rows: Rows, method: str, key: Key) -> list[float]:
    """Return a number at the end by seed, of the tasks' means over the last reports."""
    return [windows(group, key)[-1] for group in rows.where(method=method).by("seed").values()]


def best(rows: Rows, method: str, key: Key) -> list[float]:
    """Return the greatest number by seed that as many successive reports give anywhere."""
    return [max(windows(group, key)) for group in rows.where(method=method).by("seed").values()]


def windows(rows: Rows, key: Key) -> list[float]:
    """Return the number of every `LAST` successive reports of a training, the last at its end."""
    names = sorted(name for name in rows[0] if name.startswith("task_"))
    reports = np.array([rows[name] for name in names])
    starts = range(max(1, reports.shape[1] - LAST + 1))
    return [_number([float(np.mean(one[start : start + LAST])) for one in reports], key) for start in starts]


def _number(scores: list[float], key: Key) -> float:
    if key == "prizes":
        return float(np.mean([scores[task] for task in PRIZES]))
    if key == "plain":
        return float(np.mean([score for task, score in enumerate(scores) if task not in PRIZES]))
    return min(scores) if key == "worst" else float(np.mean(scores))


def less(method: str, other: str, key: Key) -> Measure:
    """Return a measure: one method's number at the end less another's, mean over seeds."""
    return lambda rows: _mean(np.subtract(end(rows, method, key), end(rows, other, key)).tolist())


def less_best(method: str, other: str, key: Key) -> Measure:
    """Return a measure: one method's number at the end less another's where it is best, mean over seeds."""
    return lambda rows: _mean(np.subtract(end(rows, method, key), best(rows, other, key)).tolist())


def apart(rows: Rows) -> Measurement | None:
    """Return how far PopArt with and without clipping are apart at the end in the tasks without prizes, mean over seeds."""
    return _mean(np.abs(np.subtract(end(rows, "popart", "plain"), end(rows, "popart-clipping", "plain"))).tolist())


def best_apart(rows: Rows) -> Measurement | None:
    """Return how far they are apart where each is best."""
    return _mean(np.abs(np.subtract(best(rows, "popart", "plain"), best(rows, "popart-clipping", "plain"))).tolist())


def _mean(found: list[float]) -> Measurement | None:
    return bootstrap(found, np.mean) if found else None


def moved(rows: Rows) -> Measurement | None:
    """Return the largest relative change of an output by one of PopArt's updates, median over seeds."""
    some = rows.where(lambda row: str(row["method"]).startswith("popart"))
    return bootstrap([max(group["moved"]) for group in some.by("seed").values()]) if some else None


def _ahead(ask: Callable[..., Condition], bound: float | int, of: str, earlier: Measure) -> Condition:
    """Return a condition on `less_best`, with the earlier one, on both ends."""
    return ask(bound, of=f"{of}, the latter's of those three successive reports where it is best, mean over seeds,").instead_of(
        ask(bound, of=f"{of}, mean over seeds,"), EARLY_STOPPING, earlier
    )


CLAIMS = (
    Claim(
        id="popart-tasks.worst",
        text="With PopArt the worst of the tasks is learned, without anything it is not.",
        source="PopArt, section 1",
        measure=less_best("popart", "none", "worst"),
        condition=_ahead(
            above,
            0.6,
            "least of the tasks' means over the last three reports (of 20 in quick), PopArt's less that of no measure",
            less("popart", "none", "worst"),
        ),
        tried="Without a measure nothing is learned in any task: all stay where they began, at chance (about -0.6 with one "
        "ball, -0.4 with two), so that the worst is no exception there.",
    ),
    Claim(
        id="popart-tasks.mean",
        text="With PopArt the tasks' mean is better than without.",
        source="PopArt, table 1",
        printed="median human-normalised score 110.7 % against 59.7 %, 57 games (from memory, unchecked)",
        measure=less_best("popart", "none", "mean"),
        condition=_ahead(
            low_above,
            0,
            "mean score over tasks and the last three reports (of 20 in quick), PopArt's less that of no measure",
            less("popart", "none", "mean"),
        ),
    ),
    Claim(
        id="popart-tasks.unclipped",
        text="With PopArt clipping makes little difference where only the sign of a reward matters.",
        source="PopArt, figure 2",
        printed="clipped and unclipped nearly the same (from memory, unchecked)",
        measure=Greatest((apart, best_apart)),
        condition=high_at_most(
            0.1,
            of="how far apart both are in the tasks with one ball, last three reports (of 20 in quick), mean over seeds, the "
            "greater of that and of the same where each is best,",
        ).instead_of(
            high_at_most(
                0.1,
                of="how far apart both are in the tasks with one ball, last three reports (of 20 in quick), mean over seeds,",
            ),
            EARLY_STOPPING,
            apart,
        ),
        tried="One setting for all methods, 800 updates; longer runs and a smaller step of the statistics were not tried.",
    ),
    Claim(
        id="popart-tasks.clipping",
        text="Without PopArt it makes a large one.",
        source="PopArt, figure 2",
        measure=less_best("clipping", "none", "plain"),
        condition=_ahead(
            low_above,
            0.5,
            "score in the tasks with one ball, last three reports (of 20 in quick), clipping's less that of no measure",
            less("clipping", "none", "plain"),
        ),
    ),
    Claim(
        id="popart-tasks.prizes",
        text="Where the size of a reward matters, clipping changes the goal and PopArt does not.",
        source="PopArt, section 1: clipping changes the objective",
        measure=less_best("popart", "clipping", "prizes"),
        condition=_ahead(
            low_above,
            0.1,
            "score in the tasks with two balls, last three reports (of 20 in quick), PopArt's less clipping's",
            less("popart", "clipping", "prizes"),
        ),
    ),
    Claim(
        id="popart-tasks.preserved",
        text="PopArt's updates change no output.",
        source="PopArt, equation 9",
        printed="0",
        measure=moved,
        condition=high_below(
            1e-12, of="largest change of an output by an update, as a share of its size, in float64, median over seeds,"
        ),
    ),
)
