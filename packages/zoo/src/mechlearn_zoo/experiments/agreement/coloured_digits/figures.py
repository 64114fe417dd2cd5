"""Test accuracy of every method under each selection rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.agreement.coloured_digits.claims import SELECTIONS, selected

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw test accuracy of every method under each selection rule."""
    names = list(dict.fromkeys(map(str, rows.values("method"))))
    figure, all_axes = panels(
        3,
        caption="Test accuracy of the trial that a rule selects; dots: seeds, bar: median. The same draws and budget for every "
        "method. Dotted: chance, 0.5, and the shape alone, 0.75.",
        height=3.0,
    )
    for axes, selection in zip(all_axes, SELECTIONS, strict=True):
        for index, method in enumerate(names):
            found = selected(rows, method, selection)
            colour = COLOURS["ours"] if "mask" in method else COLOURS["baseline"]
            axes.barh(index, float(np.median(found)), color=colour, alpha=0.35)
            axes.plot(found, [index] * len(found), ".", color=colour)
        for level in (0.5, 0.75):
            axes.axvline(level, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
        axes.set_yticks(range(len(names)), names if axes is all_axes[0] else [])
        axes.set(title=selection, xlim=(0, 0.85), xlabel="test accuracy")
        axes.grid(visible=False)
    return {"methods": figure}
