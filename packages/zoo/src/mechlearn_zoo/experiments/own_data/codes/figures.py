"""Every method against pooled training, a panel a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows
from mechlearn_zoo.experiments.own_data.codes.run import CELLS
from mechlearn_zoo.experiments.own_data.measures import gains

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Points of balanced accuracy at a new site over the early-stopped pooled network, 95 % interval of the mean over seeds; "
    "training sites x rows of each."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all cells."""
    return {"gains": gains(rows, CELLS, CAPTION)}
