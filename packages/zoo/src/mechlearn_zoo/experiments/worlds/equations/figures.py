"""Errors inside and outside of the training range, by system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.worlds.equations.run import SYSTEMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES = {"agreement": "formula on ranges", "skips": "pendulum", "distill": "few noisy examples"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's errors: hollow inside, filled outside; a panel a system."""
    figure, axes = panels(
        3,
        1,
        caption="Errors inside (hollow) and outside (filled) of the training range, a point a seed, a dash at the median: as a "
        "share of the answers' variance (left, right), and over that of standing still (middle).",
        height=3.2,
    )
    for axis, (system, title) in zip(axes, _TITLES.items(), strict=True):
        arms = [arm for arm, of in SYSTEMS.items() if of == system and rows.where(arm=arm)]
        for place, arm in enumerate(arms):
            for offset, network, role in ((-0.15, "equations", "ours"), (0.15, "perceptron", "baseline")):
                found = rows.where(arm=arm, network=network)
                for key, face in (("inside", "none"), ("outside", COLOURS[role])):
                    places = np.full(len(found), place + offset)
                    label = network if key == "outside" and place == 0 else None
                    axis.plot(places, found[key], "o", color=COLOURS[role], markerfacecolor=face, alpha=0.75, label=label)
                if found:
                    axis.plot([place + offset], [np.median(found["outside"])], "_", color="black", markersize=12)
        axis.set_xticks(range(len(arms)), arms)
        axis.set_yscale("log")
        axis.set(title=title, xlim=(-0.5, len(arms) - 0.5))
    axes[0].set_ylabel("error")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return {"errors": figure}
