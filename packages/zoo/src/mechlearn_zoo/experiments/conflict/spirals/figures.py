"""Test accuracy of every method on the two boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows, panels
from mechlearn_zoo.experiments.conflict.shortcuts.accuracies import draw_accuracies, roles_of
from mechlearn_zoo.experiments.conflict.spirals.run import BARE, PLANTED

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
        draw_accuracies(axis, rows.where(kind="final", board=board), roles_of(methods))
        axis.set_xlabel("test accuracy")
        axis.set_title("shortcuts" if board == "shortcuts" else "no shortcuts")
    return {"accuracy": figure}
