"""Test accuracy of every method on the rotated boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows, panels
from mechlearn_zoo.experiments.conflict.rotated.run import BOARDS, COMPARED
from mechlearn_zoo.experiments.conflict.shortcuts.accuracies import draw_accuracies, roles_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy, a line of points a method."""
    figure, axes = panels(
        len(BOARDS), 1, caption="Test accuracy with rotated inputs, a point a seed. Left: as many shortcuts as environments, "
        "which nobody can win. Right: four.", height=3.2,
    )  # fmt: skip
    for axis, board in zip(axes, BOARDS, strict=True):
        roles = roles_of((*COMPARED, "subspace, first", "subspace, all"))
        draw_accuracies(axis, rows.where(kind="final", board=board), roles)
        axis.set_title(board)
    return {"accuracy": figure}
