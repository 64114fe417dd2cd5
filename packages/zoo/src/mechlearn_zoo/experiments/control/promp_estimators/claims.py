"""What is claimed of the estimators; written before any recorded run."""

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below, low_above


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
        id="promp-estimators.dice-unbiased",
        text="Differentiating DiCE twice gives the Hessian of the expected return.",
        source="ProMP, section 4; Foerster et al. 2018, theorem 1",
        printed="0",
        measure=worst,
        condition=high_below(1e-12, of="largest relative error of the expected Hessian over MDPs and horizons"),
    ),
    Claim(
        id="promp-estimators.lvc-closer",
        text="The low-variance curvature is much closer to it than differentiating log pi twice.",
        source="ProMP, section 4 and theorem 2",
        measure=closer,
        condition=low_above(5, of="error of log pi over that of the low-variance curvature in the median MDP,"),
    ),
    Claim(
        id="promp-estimators.variance",
        text="Its meta-gradient varies less from trajectory to trajectory than DiCE's.",
        source="ProMP, section 5 and figure 4",
        printed="lower relative standard deviation throughout training",
        measure=quieter,
        condition=high_below(1, of="its standard deviation over DiCE's at the longest horizon in the median MDP,"),
    ),
)
