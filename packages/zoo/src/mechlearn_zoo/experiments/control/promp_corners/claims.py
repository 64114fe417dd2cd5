"""What is claimed of corners, and of the estimators; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below, low_above

LAST = 3
"""Reports at the end of which the mean counts."""
_EXACT = ("estimators", "estimators-paper")


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


def worst(rows: Rows) -> Measurement | None:
    """Return DiCE's largest relative error of the expected Hessian, median over seeds."""
    some = rows.where(kind="dice")
    return bootstrap([max(group["error"]) for group in some.by("seed").values()]) if some else None


def closer(rows: Rows) -> Measurement | None:
    """Return the error of log pi over that of the low-variance curvature, median over MDPs and horizons, then over seeds."""
    ratios = [
        float(np.median(np.divide(group.where(kind="log")["error"], group.where(kind="lr")["error"])))
        for group in rows.by("seed").values()
    ]
    return bootstrap(ratios) if ratios else None


def quieter(rows: Rows) -> Measurement | None:
    """Return the spread of the low-variance curvature over DiCE's at the longest horizon, median over MDPs, then over seeds."""
    if not rows:
        return None
    some = rows.where(horizon=max(rows["horizon"]))
    ratios = [
        float(np.median(np.divide(group.where(kind="lr")["spread"], group.where(kind="dice")["spread"])))
        for group in some.by("seed").values()
    ]
    return bootstrap(ratios)


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

ESTIMATORS = (
    Claim(
        id="promp-estimators.dice-unbiased",
        text="Differentiating DiCE twice gives the Hessian of the expected return.",
        source="ProMP, section 4; Foerster et al. 2018, theorem 1",
        printed="0",
        measure=worst,
        condition=high_below(1e-12, of="largest relative error of the expected Hessian over MDPs and horizons").at(*_EXACT),
    ),
    Claim(
        id="promp-estimators.lvc-closer",
        text="The low-variance curvature is much closer to it than differentiating log pi twice.",
        source="ProMP, section 4 and theorem 2",
        measure=closer,
        condition=low_above(5, of="error of log pi over that of the low-variance curvature in the median MDP,").at(*_EXACT),
    ),
    Claim(
        id="promp-estimators.variance",
        text="Its meta-gradient varies less from trajectory to trajectory than DiCE's.",
        source="ProMP, section 5 and figure 4",
        printed="lower relative standard deviation throughout training",
        measure=quieter,
        condition=high_below(1, of="its standard deviation over DiCE's at the longest horizon in the median MDP,").at(*_EXACT),
    ),
)
"""Of the part in which nothing is sampled."""
