"""Accuracy at the new site, a line of points a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, number, panels
from mechlearn_zoo.experiments.conflict.peers.run import BOARDS, RULES, STRENGTHS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy at every strength; the darker, the stronger."""
    figure, axes = panels(
        2, 1, caption="Accuracy at a new site, a point a seed; of a method with several strengths the darker the stronger. "
        "Left: every site has a code of its own. Right: the sites are exchangeable.", height=4.0,
    )  # fmt: skip
    for axis, board in zip(axes, BOARDS, strict=True):
        for place, method in enumerate(STRENGTHS):
            role = "baseline" if method == "averaging" else "ours" if "decay" in method else "third"
            shades = len(STRENGTHS[method])
            for row in rows.where(kind="final", board=board, method=method):
                shade = (1 + STRENGTHS[method].index(number(row, "strength"))) / shades
                axis.plot(number(row, "accuracy"), place, "o", color=COLOURS[role], alpha=0.2 + 0.6 * shade, markersize=4)
        axis.set_yticks(range(len(STRENGTHS)), tuple(STRENGTHS) if axis is axes[0] else [""] * len(STRENGTHS))
        axis.axhline(len(RULES) - 0.5, color=COLOURS["reference"], linewidth=0.6)
        axis.set_ylim(-0.5, len(STRENGTHS) - 0.5)
        axis.set_title(board)
        axis.set_xlabel("accuracy at a new site")
    return {"peers": figure}
