"""Every method against pooled training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows
from mechlearn_zoo.experiments.own_data.calibration.run import CELLS
from mechlearn_zoo.experiments.own_data.measures import gains

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Points of balanced accuracy at a new clinic with instruments and a base rate of its own over the early-stopped pooled "
    "network; 95 % interval of the mean over seeds."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the one cell."""
    return {"gains": gains(rows, CELLS, CAPTION)}
