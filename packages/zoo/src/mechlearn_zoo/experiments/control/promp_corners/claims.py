"""What is claimed of corners; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, low_above

LAST = 3
"""Reports at the end of which the mean counts."""


def less(key: str, last: int = LAST) -> Callable[[Rows], Measurement | None]:
    """Return a measure: ProMP's number less MAML's, mean over the last reports (all of them at 0) and over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        curves = rows.where(kind="curve")
        ends = [
            [float(np.mean(group[key][-last:])) for group in curves.where(method=method).by("seed").values()]
            for method in ("promp", "maml")
        ]
        return bootstrap(np.subtract(ends[0], ends[1]).tolist(), np.mean) if ends[0] else None

    return measure


CLAIMS = (
    Claim(
        id="promp-corners.samples",
        text="On equal steps in the world, ProMP's return after the step is above MAML's.",
        source="ProMP, section 6.1 and figure 2",
        measure=less("after"),
        condition=low_above(
            0,
            of="return after the step, ProMP's less MAML's, mean over the last three reports (of 20 in quick) and over seeds,",
        ),
    ),
    Claim(
        id="promp-corners.exploration",
        text="Before the step, ProMP's policy visits more of the corners.",
        source="ProMP, section 6.3 and figure 5: credit for what was tried before the step",
        measure=less("visited", 0),
        condition=low_above(
            0, of="share of corners visited before the step, ProMP's less MAML's, mean over all reports and over seeds,"
        ).instead_of(
            low_above(
                0,
                of="share of corners visited before the step, ProMP's less MAML's, mean over the last three reports (of 20 in "
                "quick) and over seeds,",
            ),
            "Over most of the curve ProMP's policy visits fewer corners, while it is ahead in return: the last reports say "
            "nothing of how that lead came about.",
            less("visited"),
        ),
        tried="Read off the rows after the verdict on the last reports: the difference is above 0 in the first two reports and "
        "in the last six, below 0 between, least at 384,000 steps with -0.54. The lead in return is largest at 256,000 steps.",
    ),
)
