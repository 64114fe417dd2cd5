"""How often each method's roll-outs end in the right cell, and what they cost."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.skips.options.run import METHODS
from craik.lab import COLOURS, Rows, panels

LABELS = {
    "joint": "options: skips or end",
    "within": "options: skips within H",
    "ends": "options: ends alone",
    "every-frame": "options: every frame",
    "separate": "a model for each option",
    "actions": "actions: H to come",
    "actions-blind": "actions: the acting one",
    "actions-fixed-1": "actions, Δt = 1",
    "actions-fixed-4": "actions, Δt = 4",
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw right ends and evaluations."""
    methods = [method for method in METHODS if rows.where(method=method)]
    figure, (left, right) = panels(
        2,
        caption="Left: share of roll-outs that end in the right cell, at equal model evaluations in training; every seed a "
        "dot, the median a bar. Right: evaluations that a roll-out of a whole walk takes. Dotted: the most frequent cell.",
        height=0.8 + 0.3 * len(methods),
    )
    for place, method in enumerate(reversed(methods)):
        some = rows.where(method=method)
        role = "ours" if method in ("joint", "actions") else "baseline"
        for axes, key in ((left, "accuracy"), (right, "rollout")):
            axes.plot(some[key], [place] * len(some), "o", color=COLOURS[role], markersize=5, alpha=0.7)
            axes.plot([np.median(some[key])] * 2, [place - 0.3, place + 0.3], color=COLOURS[role])
    left.axvline(float(np.median(rows["frequent"])), color=COLOURS["reference"], linestyle=":")
    for axes, title in ((left, "right ends"), (right, "evaluations of a roll-out")):
        axes.set(title=title, yticks=range(len(methods)))
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
    left.set_yticklabels([LABELS[method] for method in reversed(methods)])
    left.set_xlim(-0.02, 1.02)
    right.set_yticklabels([])
    return {"ends": figure}
