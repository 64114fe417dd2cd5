"""The vote against itself without privileged columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows
from mechlearn_zoo.experiments.own_data.measures import gains
from mechlearn_zoo.experiments.own_data.privileged.run import CELLS, FORM_CELLS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = "Points of accuracy over the vote without privileged columns, 95 % interval of the mean over seeds; table and rows."

FORMS = "Points of accuracy over LDT as the thesis has it, 95 % interval of the mean over seeds; table and rows."


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all cells, of networks in the place of votes where there are these alone."""
    if any(row["method"] == "vote" for row in rows):
        return {"gains": gains(rows, CELLS, CAPTION, over="vote without")}
    return {"forms": gains(rows, FORM_CELLS, FORMS, over="LDT")}
