"""Test accuracy by variant, and what is left of the shortcuts' weights with one thing taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.spirals.sensitivity import needs
from mechlearn_zoo.experiments.spirals.sensitivity.run import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each variant's test accuracies, hollow where the run had not converged."""
    names = [name for name in NAMES if rows.where(variant=name)]
    figure, (axes,) = panels(
        caption="Test accuracy by variant, one dot a seed, the median as a bar; hollow: training had not converged.",
        height=0.6 + 0.32 * len(names),
    )
    for index, name in enumerate(names):
        for converged in (True, False):
            some = rows.where(variant=name, converged=converged)["test_accuracy"]
            face = COLOURS["ours"] if converged else "white"
            axes.plot(some, [index] * len(some), "o", color=COLOURS["ours"], markerfacecolor=face, markersize=5)
        axes.plot([np.median(rows.where(variant=name)["test_accuracy"])], [index], "|", color="black", markersize=14)
    axes.axvline(0.5, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
    axes.set(yticks=range(len(names)), xlabel="test accuracy", xlim=(0.4, 1.03), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticklabels(names)
    return {"variants": figure}


def of_needs(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy and what the shortcuts' weights have left, a line of points a variant."""
    figure, (left, right) = panels(
        2, 1, caption="The AND-mask on the spirals with one thing taken away, a point a seed. Left: test accuracy. Right: norm "
        "of the first layer's weights on shortcuts, over the norm that they were drawn with.", height=3.2,
    )  # fmt: skip
    for place, method in enumerate(needs.VARIANTS):
        found = rows.where(kind="final", method=method)
        role = "baseline" if method == "averaging" else "third" if method == "as the texts" else "ours"
        for axis, key in ((left, "accuracy"), (right, "left")):
            axis.plot(found[key], [place] * len(found), "o", color=COLOURS[role], alpha=0.7)
    left.set_yticks(range(len(needs.VARIANTS)), tuple(needs.VARIANTS))
    right.set_yticks(range(len(needs.VARIANTS)), [])
    for axis in (left, right):
        axis.invert_yaxis()
    left.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
    left.set_xlim(0.4, 1.02)
    left.set_xlabel("test accuracy")
    right.set_xlabel("left of the drawn norm")
    return {"needs": figure}
