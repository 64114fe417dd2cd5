"""Each candidate's error on trajectories to come, a panel a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, bootstrap, panels
from mechlearn_zoo.experiments.own_data.trajectories.run import MOTIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Root mean squared error on trajectories to come, in standard deviations of a state; 95 % interval of the mean over seeds. "
    "Every candidate has the setting that was chosen for it beforehand."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all motions that there are."""
    errors = rows.where(kind="error")
    boards = [board for board in MOTIONS if len(errors.where(board=board))]
    methods = list(dict.fromkeys(str(row["method"]) for row in errors))
    figure, axes = panels(max(1, min(2, len(boards))), -(-len(boards) // 2), caption=CAPTION, height=2.6 * -(-len(boards) // 2))
    for axis in axes[len(boards) :]:
        axis.set_visible(False)
    for axis, board in zip(axes, boards, strict=False):
        for place, method in enumerate(reversed(methods)):
            one = bootstrap(errors.where(board=board, method=method)["true"], np.mean)
            ours = COLOURS["ours"] if "skips" in method else COLOURS["sixth"]
            axis.plot([one.low, one.high], [place, place], color=ours)
            axis.plot([one.value], [place], "o", color=ours, markersize=4)
        axis.set_yticks(range(len(methods)), list(reversed(methods)), fontsize=7)
        axis.set_title(board, fontsize=8)
        axis.set_xlim(left=0)
        axis.grid(axis="x", color="#e6e8eb")
    return {"errors": figure}
