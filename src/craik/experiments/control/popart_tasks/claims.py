"""What is claimed of tasks of different scale; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from craik.experiments.control.popart_tasks.run import PRIZES
from craik.lab import Claim, Measurement, Rows, above, bootstrap, high_at_most, high_below, low_above

LAST = 3
"""Reports at the end of which the mean counts."""


def end(rows: Rows, method: str, key: str) -> list[float]:
    """Return a number at the end by seed: `worst` and `prizes` of the tasks' means over the last reports."""
    return [_end(group, key) for group in rows.where(method=method).by("seed").values()]


def _end(rows: Rows, key: str) -> float:
    tasks = sorted(name for name in rows[0] if name.startswith("task_"))
    scores = [float(np.mean(rows[name][-LAST:])) for name in tasks]
    if key == "prizes":
        return float(np.mean([scores[task] for task in PRIZES]))
    return min(scores) if key == "worst" else float(np.mean(scores))


def less(method: str, other: str, key: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: one method's number less another's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        if not rows:
            return None
        return bootstrap(np.subtract(end(rows, method, key), end(rows, other, key)).tolist(), np.mean)

    return measure


def apart(rows: Rows) -> Measurement | None:
    """Return how far PopArt with and without clipping are apart in the mean over the tasks without prizes, mean over seeds."""
    if not rows:
        return None
    found = [np.array(_without_prizes(rows, name)) for name in ("popart", "popart-clipping")]
    return bootstrap(np.abs(found[0] - found[1]).tolist(), np.mean)


def clipped(rows: Rows) -> Measurement | None:
    """Return clipping's mean over the tasks without prizes less that of no measure, mean over seeds."""
    if not rows:
        return None
    found = [np.array(_without_prizes(rows, name)) for name in ("clipping", "none")]
    return bootstrap((found[0] - found[1]).tolist(), np.mean)


def _without_prizes(rows: Rows, method: str) -> list[float]:
    count = sum(name.startswith("task_") for name in rows[0])
    plain = [f"task_{task}" for task in range(count) if task not in PRIZES]
    groups = rows.where(method=method).by("seed").values()
    return [float(np.mean([np.mean(group[name][-LAST:]) for name in plain])) for group in groups]


def moved(rows: Rows) -> Measurement | None:
    """Return the largest relative change of an output by one of PopArt's updates, median over seeds."""
    some = rows.where(lambda row: str(row["method"]).startswith("popart"))
    return bootstrap([max(group["moved"]) for group in some.by("seed").values()]) if some else None


CLAIMS = (
    Claim(
        id="popart-tasks.worst",
        text="With PopArt the worst of the tasks is learned, without anything it is not.",
        source="PopArt, section 1",
        measure=less("popart", "none", "worst"),
        condition=above(
            0.6,
            of="least of the tasks' means over the last three reports (of 20 in quick), PopArt's less that of no measure, mean "
            "over seeds,",
        ),
        tried="Without a measure nothing is learned in any task: all stay where they began, at chance (about -0.6 with one "
        "ball, -0.4 with two), so that the worst is no exception there.",
    ),
    Claim(
        id="popart-tasks.mean",
        text="With PopArt the tasks' mean is better than without.",
        source="PopArt, table 1",
        printed="median human-normalised score 110.7 % against 59.7 %, 57 games (from memory, unchecked)",
        measure=less("popart", "none", "mean"),
        condition=low_above(
            0,
            of="mean score over tasks and the last three reports (of 20 in quick), PopArt's less that of no measure, mean over "
            "seeds,",
        ),
    ),
    Claim(
        id="popart-tasks.unclipped",
        text="With PopArt clipping makes little difference where only the sign of a reward matters.",
        source="PopArt, figure 2",
        printed="clipped and unclipped nearly the same (from memory, unchecked)",
        measure=apart,
        condition=high_at_most(
            0.1, of="how far apart both are in the tasks with one ball, last three reports (of 20 in quick), mean over seeds,"
        ),
        tried="One setting for all methods, 800 updates; longer runs and a smaller step of the statistics were not tried.",
    ),
    Claim(
        id="popart-tasks.clipping",
        text="Without PopArt it makes a large one.",
        source="PopArt, figure 2",
        measure=clipped,
        condition=low_above(
            0.5,
            of="score in the tasks with one ball, last three reports (of 20 in quick), clipping's less that of no "
            "measure, mean over seeds,",
        ),
    ),
    Claim(
        id="popart-tasks.prizes",
        text="Where the size of a reward matters, clipping changes the goal and PopArt does not.",
        source="PopArt, section 1: clipping changes the objective",
        measure=less("popart", "clipping", "prizes"),
        condition=low_above(
            0.1,
            of="score in the tasks with two balls, last three reports (of 20 in quick), PopArt's less clipping's, mean over "
            "seeds,",
        ),
    ),
    Claim(
        id="popart-tasks.and-mask",
        text="The AND-mask over tasks and the division of each task's gradient by its norm together learn more than averaging "
        "alone.",
        source="ours; issue 'control'",
        measure=less("and-mask-normalised", "none", "mean"),
        condition=low_above(
            0.2,
            of="mean score over tasks and the last three reports (of 20 in quick), normalised AND-mask's less that of no "
            "measure, mean over seeds,",
        ),
        kind="ours",
        tried="Two changes are tested as one; `popart-tasks.mask-alone` tests the mask by itself. Without the division the "
        "mask learns no task at all, as averaging does: both stay at chance in all eight tasks, on all six seeds of quick; "
        "with it one of the six stays there. Beside PopArt the mask gains nothing: PopArt with it less PopArt has a mean of "
        "-0.082 [-0.196, 0.041], a worst task of -0.175 [-0.274, -0.077].",
    ),
    Claim(
        id="popart-tasks.mask-alone",
        text="Of gradients that are divided by their norms the AND-mask over tasks learns more than averaging.",
        source="ours; issue 'control'",
        measure=less("and-mask-normalised", "normalised", "mean"),
        condition=low_above(
            0,
            of="mean score over tasks and the last three reports (of 20 in quick), normalised AND-mask's less that of "
            "averaging of gradients divided alike, mean over seeds,",
        ),
        kind="ours",
        tried="One setting for all methods. The mask is ahead on five seeds of six, and on one stays at chance, where "
        "averaging begins to learn. Of what both together gain over averaging as it is, 0.64, the division alone gains 0.40.",
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
