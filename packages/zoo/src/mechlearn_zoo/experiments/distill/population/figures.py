"""What fresh students learn under each teacher, every seed a dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "no-teacher": "no teacher",
    "lone": "teacher of one student",
    "lone-renewed": "... that starts anew",
    "population": "teacher of a population",
    "and-mask": "... by the AND-mask",
}
PANELS = (
    ("initialisation", "selected", "new weights"),
    ("width", "selected", "new width"),
    ("initialisation", "young", "new weights, young"),
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the test accuracies of fresh students."""
    methods = [method for method in LABELS if rows.where(method=method)]
    figure, all_axes = panels(
        len(PANELS),
        caption="Test accuracy of fresh students at the time that is best on held-out examples (right: after a few steps), "
        "mean over a seed's students: every seed a dot, the median a bar. Chance is 0.50.",
        height=1.2 + 0.32 * len(methods),
    )
    for axes, (unseen, key, title) in zip(all_axes, PANELS, strict=True):
        for place, method in enumerate(reversed(methods)):
            groups = rows.where(method=method, unseen=unseen).by("seed").values()
            found = [float(np.mean(group[key])) for group in groups]
            role = {"no-teacher": "baseline", "population": "ours", "and-mask": "ours"}.get(method, "reference")
            axes.plot(found, [place] * len(found), "o", color=COLOURS[role], markersize=5)
            axes.plot([np.median(found)] * 2, [place - 0.3, place + 0.3], color=COLOURS[role])
        axes.set(title=title, xlabel="test accuracy", yticks=range(len(methods)))
        axes.set_yticklabels([LABELS[method] for method in reversed(methods)] if axes is all_axes[0] else [])
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
    return {"fresh-students": figure}
