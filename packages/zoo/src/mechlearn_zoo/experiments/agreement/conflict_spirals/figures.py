"""Test accuracy of every method on the two boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.agreement.conflict_spirals.run import BARE, PLANTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy, a line of points a method."""
    figure, axes = panels(
        2,
        1,
        caption="Test accuracy on the spirals at the end of training, a point a seed. Left: each environment has shortcuts of "
        "its own. Right: there are none.",
        height=3.4,
    )
    for axis, board, methods in zip(axes, ("shortcuts", "none"), (PLANTED, BARE), strict=True):
        for place, method in enumerate(methods):
            found = rows.where(kind="final", board=board, method=method)["accuracy"]
            role = "baseline" if method == "mean" else "third" if method.startswith("and") else "ours"
            axis.plot(found, [place] * len(found), "o", color=COLOURS[role], alpha=0.7)
        axis.set_yticks(range(len(methods)), methods)
        axis.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
        axis.set_xlim(0.4, 1.02)
        axis.set_xlabel("test accuracy")
        axis.set_title("shortcuts" if board == "shortcuts" else "no shortcuts")
    return {"accuracy": figure}
