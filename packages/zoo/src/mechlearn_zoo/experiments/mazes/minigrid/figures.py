"""Goals reached and cells seen by environment steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.experiments.mazes.minigrid.run import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {"none": "no bonus", "counts": "counts (oracle)", "random": "curiosity, random", "inverse": "curiosity, inverse"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both for every method."""
    figure, (goals, cells) = panels(
        2, 1, height=3.0, caption="MiniGrid's rooms with a bonus alone: episodes that reach the goal, which no learner is paid "
        "for, and cells that are new in an episode; median and range over seeds.",
    )  # fmt: skip
    for index, method in enumerate(METHODS):
        shade = COLOURS["reference"] if method == "none" else colour(index)
        for axis, key in ((goals, "reached"), (cells, "new")):
            band(axis, *rows.where(method=method).curves("budget", key), _LABELS[method], shade)
    goals.set_ylabel("share of episodes at the goal")
    cells.set_ylabel("new cells an episode")
    for axis in (goals, cells):
        axis.set_xlabel("environment steps")
        axis.set_ylim(bottom=0)
    goals.legend(fontsize=7)
    return {"rooms": figure}
