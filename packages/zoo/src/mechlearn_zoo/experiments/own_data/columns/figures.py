"""How well each score finds planted columns, by board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.own_data.columns.run import BOARDS, SCORES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the areas, a group of points a board, and a point a seed."""
    figure, (axis,) = panels(
        caption="How often a planted column has a larger score than a sound one, by board; a point a seed, a line their mean. "
        "On the last board all sites share the tag: nothing can see it."
    )
    for index, score in enumerate(SCORES):
        label: str | None = score
        for place, board in enumerate(BOARDS):
            found = rows.where(kind="auroc", board=board, score=score)["auroc"]
            at = place + (index - 1.5) * 0.2
            axis.plot([at] * len(found), found, "o", color=colour(index), alpha=0.35, markersize=3)
            if found:
                axis.plot([at - 0.08, at + 0.08], [np.mean(found)] * 2, color=colour(index), linewidth=2.4, label=label)
                label = None  # named once
    axis.axhline(0.5, color=COLOURS["reference"], linewidth=0.8)
    axis.set_xticks(range(len(BOARDS)), list(BOARDS))
    axis.set_ylabel("AUROC of the planted columns")
    axis.legend(fontsize=7)
    return {"columns": figure}
