"""Test accuracy of every rule under two ways to select its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.conflict.colours.claims import selected
from mechlearn_zoo.experiments.conflict.colours.run import COMPARED
from mechlearn_zoo.experiments.conflict.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy and the median, a line a rule."""
    figure, both = panels(
        2,
        caption="Test accuracy of the trial that is selected; dots: seeds, bar: median. The same draws for every rule. Dotted: "
        "chance, 0.5, and the shape alone, 0.75.",
        height=2.6,
    )
    for axes, selection in zip(both, ("training-domain", "oracle"), strict=True):
        for place, method in enumerate(COMPARED):
            found = list(selected(rows, method, selection).values())
            colour = COLOURS["baseline" if method == "mean" else "third" if method == "and-mask" else "ours"]
            axes.barh(place, float(np.median(found)), color=colour, alpha=0.35)
            axes.plot(found, [place] * len(found), ".", color=colour)
        for level in (0.5, 0.75):
            axes.axvline(level, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
        axes.set_yticks(range(len(COMPARED)), [METHODS[name].label for name in COMPARED] if axes is both[0] else [])
        axes.set(title=selection, xlim=(0, 0.85), xlabel="test accuracy")
        axes.grid(visible=False)
    return {"selected": figure}
