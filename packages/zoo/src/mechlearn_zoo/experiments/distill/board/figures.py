"""Accuracy on boards of known styles and of an unseen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = {
    "frequent": ("most frequent", "reference"),
    "no-teacher": ("no teacher", "baseline"),
    "ldt-placebo": ("LDT, other falls", "third"),
    "ldt-asi": ("LDT, ASI's frames", "fourth"),
    "ldt": ("LDT", "ours"),
    "asi-and-mask": ("ASI, AND-mask", "fifth"),
    "asi": ("ASI", "sixth"),
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracies, a line of points a method."""
    names = [name for name in _METHODS if rows.where(method=name)]
    figure, axes = panels(
        2,
        1,
        caption="How often the platform is right on which the ball lands, a point a seed, a bar at the median. Left: new "
        "boards of the two styles that were trained on. Right: boards of a livelier style.",
        height=3.2,
    )
    for axis, key, title in zip(axes, ("accuracy", "unseen"), ("known styles", "unseen style"), strict=True):
        for place, name in enumerate(names):
            found = rows.where(method=name)[key]
            axis.plot(found, [place] * len(found), "o", color=COLOURS[_METHODS[name][1]], alpha=0.75)
            axis.plot([np.median(found)], [place], "|", color="black", markersize=12)
        axis.set_yticks(range(len(names)), [_METHODS[name][0] for name in names] if key == "accuracy" else [])
        axis.set(title=title, xlabel="accuracy", xlim=(0, 1.02))
    return {"accuracy": figure}
