"""What was said of each table, what came true, and what labelled rows are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Row, Rows, number, panels
from mechlearn_zoo.experiments.own_data.sitebench.tables import KEPT_BACK, TABLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTION = (
    "Left: the 90 % interval for one new site (line), random folds (cross) and the mean of further sites (dot), in points of "
    "AUC or R squared, cut at -100; tables kept back in bold. Right: points that twenty labelled rows add, by the room."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both panels."""
    found = rows.where(kind="table")
    names = [name for name in TABLES if len(found.where(table=name))]
    figure, (left, right) = panels(2, 1, caption=CAPTION, height=max(3.0, 0.2 * len(names)))
    for place, name in enumerate(names):
        _interval(left, place, found.where(table=name))
    left.set_yticks(range(len(names)), names, fontsize=6)
    for label in left.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in KEPT_BACK else "normal")
    left.invert_yaxis()
    left.set_xlabel("points of AUC or R squared", fontsize=8)
    groups = {"natural": "reference", "kept back": "ours", "planted": "sixth"}
    for group, colour in groups.items():
        known = [row for row in found.where(group=group) if _felt(row)]
        places = [[number(row, key) for row in known] for key in ("room further", "labelled further")]
        right.plot(*places, "o", color=COLOURS[colour], markersize=3, alpha=0.7, label=group)
    ends = [4.0, max([4.0, *(number(row, "room further") for row in found if _felt(row))])]
    right.plot(ends, [end / 2 for end in ends], color=COLOURS["reference"], linewidth=0.8, label="half of the room")
    right.set_xscale("symlog")
    right.set_yscale("symlog")
    right.set_xlabel("room at further sites, in points", fontsize=8)
    right.set_ylabel("twenty labelled rows add, in points", fontsize=8)
    right.legend(fontsize=6)
    return {"next-site": figure}


def _interval(axis: Axes, place: int, rows: Rows) -> None:
    """Means over seeds."""

    def mean(key: str) -> float:
        return max(-100.0, float(np.mean([number(row, key) for row in rows if key in row])))

    axis.plot([mean("low"), mean("high")], [place, place], color=COLOURS["ours"], linewidth=1)
    axis.plot([mean("random")], [place], "x", color=COLOURS["reference"], markersize=4)
    axis.plot([mean("further")], [place], "o", color=COLOURS["sixth"], markersize=3)


def _felt(row: Row) -> bool:
    return "labelled further" in row and "room further" in row and number(row, "room further") >= 1
