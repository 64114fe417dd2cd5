"""Test errors of every method on every example, scrambled or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.own_data.linear_units.run import CELLS
from mechlearn_zoo.experiments.own_data.linear_units.training import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Test error of the trial that the training environments' validation data choose, spurious inputs shuffled; a point a seed, "
    "filled with three environments and hollow with eight. Above the examples as they are, below with rotated inputs."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's error, a line of points a method."""
    figure, axes = panels(len(CELLS) // 2, 2, caption=CAPTION, height=6.4)
    names = list(reversed(METHODS))
    order = sorted(range(len(CELLS)), key=lambda place: CELLS[place][1])
    for axis, (example, turned) in zip(axes, (CELLS[place] for place in order), strict=True):
        for place, method in enumerate(names):
            for environments, offset in ((3, 0.15), (8, -0.15)):
                found = rows.where(kind="final", example=example, scrambled=turned, environments=environments, method=method)[
                    "within"
                ]
                colour = COLOURS["ours"] if "mask" in method or method in ("Gail-Simon", "Cochran") else COLOURS["sixth"]
                face = colour if environments == 3 else "none"
                places = np.full(len(found), place + offset)
                axis.plot(found, places, "o", color=colour, markerfacecolor=face, markersize=4, alpha=0.7)
        axis.set_yticks(range(len(names)), names if example == "regression" else [], fontsize=7)
        axis.set_title(f"{example}, scrambled" if turned else example, fontsize=8)
        if example == "regression":
            axis.set_xscale("log")
            axis.set_xlabel("mean squared error", fontsize=8)
        else:
            axis.set_xlim(-0.03, 0.63)
            axis.set_xlabel("share of wrong labels", fontsize=8)
    return {"errors": figure}
