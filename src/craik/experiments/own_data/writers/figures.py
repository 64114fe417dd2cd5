"""Every method against pooled training, a panel a board."""

from matplotlib.figure import Figure

from craik.experiments.own_data.measures import gains
from craik.experiments.own_data.writers.run import CELLS
from craik.lab import Rows

CAPTION = (
    "Points of balanced accuracy at three new writers over the early-stopped pooled network, 95 % interval of the mean over "
    "seeds."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all cells."""
    return {"gains": gains(rows, CELLS, CAPTION)}
