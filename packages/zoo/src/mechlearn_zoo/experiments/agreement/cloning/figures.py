"""Divergence on levels that were never seen, by method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.agreement.cloning.claims import selected
from mechlearn_zoo.experiments.agreement.cloning.run import METHODS, TESTING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's divergence where held-out levels select, a line a method."""
    figure, (axes,) = panels(
        1,
        caption="Divergence from the expert on levels never seen, in nats, at the trial and step with the least on "
        "held-out levels; dots: seeds, bar: median. Dotted: equal probabilities for all actions.",
        height=2.4,
    )
    methods = [method for method in METHODS if rows.where(kind="look", method=method)]
    for place, method in enumerate(methods):
        found = list(selected(rows, (method,)).values())
        colour = COLOURS["ours" if method in TESTING else "third" if method == "AND-mask" else "baseline"]
        axes.barh(place, float(np.median(found)), color=colour, alpha=0.35)
        axes.plot(found, [place] * len(found), ".", color=colour)
    axes.axvline(float(np.median(rows.where(kind="constant")["test"])), color=COLOURS["reference"], linestyle=":")
    axes.set_yticks(range(len(methods)), methods)
    axes.set(xlabel="KL from the expert, nats", xlim=(0, None))
    axes.grid(visible=False)
    return {"divergence": figure}
