"""Every method against pooled training, a panel a board and new site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows
from mechlearn_zoo.experiments.own_data.measures import gains
from mechlearn_zoo.experiments.own_data.tag.run import CELLS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Points of balanced accuracy at new sites where the tag is reversed, shuffled and as before, over the early-stopped pooled "
    "network; 95 % interval of the mean over seeds."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all cells."""
    return {"gains": gains(rows, CELLS, CAPTION)}
