"""Returns before and after the step, and where points go; bias and spread of the surrogates against the horizon."""

from collections.abc import Mapping

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.learners.plots import Figure, Look, curves, first_seed, picture

LOOKS = {"promp": ("ProMP", "ours"), "maml": ("MAML", "baseline")}
CREDITS = {
    "one": ("formulation I", "ours"),
    "two": ("formulation II", "third"),
    "two-mean": ("formulation II, mean", "baseline"),
    "none": ("no credit", "reference"),
}
SURROGATES = {
    "log": ("log pi (MAML's)", "baseline"),
    "lr": ("low-variance curvature (ProMP)", "ours"),
    "dice": ("DiCE", "third"),
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw learning curves and, of the first seed, paths."""
    drawn = rows.where(kind="path")
    return {"curves": _learning(rows, LOOKS)} | ({"paths": _paths(drawn)} if drawn else {})


def credit(rows: Rows) -> dict[str, Figure]:
    """Draw learning curves of the formulations."""
    return {"credit": _learning(rows, CREDITS)}


def _learning(rows: Rows, looks: Mapping[str, Look]) -> Figure:
    figure, axes = panels(
        3, 1, height=2.8, caption="Return before and after the inner step, and the share of corners that a task's 20 points "
        "visit before it, against steps in the world; median and range over seeds.",
    )  # fmt: skip
    titles = {"before": "return before", "after": "return after", "visited": "corners visited before"}
    for axis, (key, title) in zip(axes, titles.items(), strict=True):
        curves(axis, rows.where(kind="curve"), "steps", key, "method", looks, per=1000)
        axis.set(title=title, xlabel="1000 steps")
    axes[0].legend(fontsize=7)
    return figure


def estimators(rows: Rows) -> dict[str, Figure]:
    """Draw errors of the expected Hessian, and standard deviations of the meta-gradient."""
    figure, axes = panels(
        2, 1, height=3.4,
        caption="Left: relative error of the expected Hessian. Right: standard deviation of a meta-gradient from one "
        "trajectory, as a share of its norm. Medians over all MDPs and seeds, bars from the 10th to the 90th percentile.",
    )  # fmt: skip
    horizons = sorted({int(time) for time in rows["horizon"]})
    for axis, key in zip(axes, ("error", "spread"), strict=True):
        for index, (kind, (label, shade)) in enumerate(SURROGATES.items()):
            some = [np.asarray(rows.where(kind=kind, horizon=time)[key]) for time in horizons]
            low, middle, high = np.array([np.percentile(found, (10, 50, 90)) for found in some]).T
            places = np.array(horizons) + 0.08 * (index - 1)
            axis.errorbar(places, middle, (middle - low, high - middle), fmt="o-", color=COLOURS[shade], label=label, capsize=2)
        axis.set_xticks(horizons)
        axis.set_xlabel("steps of an episode")
        axis.set_yscale("log")
    axes[0].set_ylabel("relative error of the Hessian")
    axes[1].set_ylabel("relative standard deviation")
    axes[0].legend(fontsize=7, loc="center right")
    return {"estimators": figure}


def _paths(rows: Rows) -> Figure:
    first = first_seed(rows)
    figure, axes = panels(
        4, 1, height=2.4, caption="Where five points go in two tasks at the end of training, before the step (grey) and after "
        "it; the star is the corner that pays. First seed.",
    )  # fmt: skip
    panes = [(method, panel) for method in LOOKS for panel in (0, 1)]
    for axis, (method, panel) in zip(axes, panes, strict=True):
        some = first.where(method=method, panel=panel)
        for when, colour in (("before", COLOURS["reference"]), ("after", COLOURS[LOOKS[method][1]])):
            for group in some.where(when=when).by("point").values():
                axis.plot(group["x"], group["y"], color=colour, linewidth=1)
        for corner, (x, y) in enumerate(((-2, -2), (2, -2), (-2, 2), (2, 2))):
            paid = some and corner == some["goal"][0]
            axis.plot(x, y, "*" if paid else "o", color=COLOURS["ink"], markersize=11 if paid else 4)
        picture(axis)
        axis.set(title=LOOKS[method][0], xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal")
    return figure
