"""Test accuracy of each basis on each board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows, panels
from mechlearn_zoo.experiments.conflict.basis.run import BASES, BOARDS
from mechlearn_zoo.experiments.conflict.shortcuts.accuracies import draw_accuracies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {"16": "16 shortcuts", "4 rotated": "4 rotated", "none": "no shortcuts"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy, a line of points a basis."""
    figure, axes = panels(
        len(BOARDS), 1, caption="Test accuracy on the spirals with every layer's mask in one basis, or in the one that leaves "
        "less disagreement in environments held out; a point a seed.", height=2.4,
    )  # fmt: skip
    roles = {basis: "ours" if basis == "chosen" else "third" for basis in BASES if rows.where(kind="final", method=basis)}
    for axis, board in zip(axes, BOARDS, strict=True):
        draw_accuracies(axis, rows.where(kind="final", board=board), roles)
        if axis is not axes[0]:
            axis.set_yticklabels([""] * len(roles))
        axis.set_ylim(-0.5, len(roles) - 0.5)
        axis.set_title(TITLES[board])
    return {"basis": figure}
