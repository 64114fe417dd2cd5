"""Coverage and presses, set by set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.mazes.television.skips import ARMS, SETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {"next": "the next frame", "easiest": "the easiest ahead", "any": "any frame ahead", "none": "no bonus"}
_SHADES = {"next": "baseline", "easiest": "ours", "any": "fourth", "none": "reference"}
_TITLES = {"off": "no television", "flickering": "pictures that pass", "staying": "pictures that stay"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both by episode."""
    return {
        "coverage": _curves(rows, "coverage", "Share of the maze that a walker visits in an episode, by what the"),
        "presses": _curves(rows, "presses", "Share of actions that press the television's button, by what the"),
    }


def _curves(rows: Rows, key: str, caption: str) -> Figure:
    caption += " forward model predicts; median and range over seeds."
    figure, axes = panels(3, 1, caption=caption, height=2.9)
    top = max(rows[key])
    for axis, kind in zip(axes, SETS, strict=True):
        for model in [model for one, model in ARMS if one == kind]:
            x, lines = rows.where(set=kind, model=model).curves("rollout", key)
            band(axis, np.asarray(x) + 1, lines, _LABELS[model], COLOURS[_SHADES[model]])
        axis.set(title=_TITLES[kind], xlabel="episodes of a walker", ylim=(0, 1.05 * top))
        axis.legend(fontsize=6.5)
    axes[0].set_ylabel(key)
    return figure
