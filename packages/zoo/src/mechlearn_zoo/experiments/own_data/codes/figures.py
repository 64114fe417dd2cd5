"""Every method against pooled training, a panel a cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from claimlab import Rows
from mechlearn_zoo.experiments.own_data.codes.run import CELLS
from mechlearn_zoo.experiments.own_data.measures import gains

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INTERVAL = "95 % interval of the mean over seeds"


def board(name: str, caption: str) -> Callable[[Rows], dict[str, Figure]]:
    """Return what draws a board's cells."""
    return lambda rows: {"gains": gains(rows, CELLS[name], f"Points of balanced accuracy at {caption}.")}


codes = board("codes", f"a new site over the early-stopped pooled network, {INTERVAL}; training sites x rows of each")
weak = board(
    "weak",
    f"a new clinic over the early-stopped pooled network, where clinics are exchangeable; {INTERVAL}; clinics x rows of each",
)
wards = board(
    "wards", f"a new clinic with wards of its own over the early-stopped pooled network; {INTERVAL}; clinics x rows of each"
)
tag = board(
    "tag", "new sites where the tag is reversed, shuffled and as before, over the early-stopped pooled network; " + INTERVAL
)
calibration = board(
    "calibration", f"a new clinic with instruments and a base rate of its own over the early-stopped pooled network; {INTERVAL}"
)
writers = board("writers", f"three new writers over the early-stopped pooled network, {INTERVAL}")
