"""Cities left out, and what the hours in between are worth by number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, bootstrap, number, panels
from mechlearn_zoo.experiments.own_data.cities.run import AGREEMENT, cell
from mechlearn_zoo.experiments.own_data.measures import differences, gains

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEFT_OUT = (
    "Error at a city left out, in per cent of the pooled linear model's, below the early-stopped pooled network's; 95 % "
    "interval of the mean over seeds."
)
PRIVILEGED = (
    "Variance explained in the last fifth of the time, in points over cross-validated ridge, by number of training rows; mean "
    "over cities and seeds with its 95 % interval over seeds."
)
LINES = {
    "vote": "ours", "vote without": "sixth", "LUPTS": "baseline", "generalised distillation": "fourth", "OLS": "reference",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both halves."""
    return {"left-out": gains(rows, {"six hours ahead": AGREEMENT}, LEFT_OUT), "privileged": privileged(rows)}


def privileged(rows: Rows) -> Figure:
    """Draw differences from ridge, a panel a horizon."""
    found = rows.where(kind="score", part="privileged")
    horizons = sorted({int(number(row, "horizon")) for row in found})
    sizes = sorted({int(number(row, "rows")) for row in found})
    figure, axes = panels(max(1, len(horizons)), 1, caption=PRIVILEGED, height=3.2)
    for axis, horizon in zip(axes, horizons, strict=False):
        for method, colour in LINES.items():
            values = {size: differences(rows, method, "ridge", cell(horizon, size)) for size in sizes}
            drawn = {size: bootstrap(one, np.mean) for size, one in values.items() if one}
            places = list(drawn)
            axis.plot(places, [one.value for one in drawn.values()], "o-", color=COLOURS[colour], markersize=3, label=method)
            lows, highs = [one.low for one in drawn.values()], [one.high for one in drawn.values()]
            axis.fill_between(places, lows, highs, color=COLOURS[colour], alpha=0.2)
        axis.axhline(0.0, color=COLOURS["reference"], linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xticks(sizes, [str(size) for size in sizes], fontsize=7)
        axis.set_xticks([], minor=True)
        axis.set_ylim(-12, 16)
        axis.set_title(f"{horizon} hours ahead", fontsize=8)
        axis.set_xlabel("training rows", fontsize=8)
    axes[0].set_ylabel("points over ridge", fontsize=8)
    axes[0].legend(fontsize=6)
    return figure
