"""The walk of each seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the walk of each seed."""
    figure, (axes,) = panels(caption="A walk <of> some & seeds.")
    curves = [group["value"] for group in rows.by("seed").values()]
    band(axes, range(len(curves[0])), curves, "walk", COLOURS["ours"])
    axes.legend()
    return {"walk": figure}
