"""Bias and spread of the surrogates against the horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.control.promp_estimators.run import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {"log": "log pi (MAML's)", "lr": "low-variance curvature (ProMP)", "dice": "DiCE"}
SHADES = {"log": "baseline", "lr": "ours", "dice": "third"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw errors of the expected Hessian, and standard deviations of the meta-gradient."""
    figure, axes = panels(
        2, 1, height=3.4,
        caption="Left: relative error of the expected Hessian. Right: standard deviation of a meta-gradient from one "
        "trajectory, as a share of its norm. Medians over all MDPs and seeds, bars from the 10th to the 90th percentile.",
    )  # fmt: skip
    horizons = sorted({int(time) for time in rows["horizon"]})
    for axis, key in zip(axes, ("error", "spread"), strict=True):
        for index, kind in enumerate(KINDS):
            some = [np.asarray(rows.where(kind=kind, horizon=time)[key]) for time in horizons]
            low, middle, high = np.array([np.percentile(found, (10, 50, 90)) for found in some]).T
            places = np.array(horizons) + 0.08 * (index - 1)
            colour = COLOURS[SHADES[kind]]
            axis.errorbar(places, middle, (middle - low, high - middle), fmt="o-", color=colour, label=LABELS[kind], capsize=2)
        axis.set_xticks(horizons)
        axis.set_xlabel("steps of an episode")
        axis.set_yscale("log")
    axes[0].set_ylabel("relative error of the Hessian")
    axes[1].set_ylabel("relative standard deviation")
    axes[0].legend(fontsize=7, loc="center right")
    return {"estimators": figure}
