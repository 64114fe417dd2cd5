"""Accuracy of every method, seed by seed, with what its roll-outs cost."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.skips.matchings.run import METHODS
from craik.lab import COLOURS, Rows, panels

LABELS = {
    "asi": "ASI",
    "fixed-6": "fixed, Δt = 6",
    "aligned-frames": "aligned, from true frames",
    "aligned-predictions": "aligned, from predictions",
    "soft-greedy": "ASI, soft minimum",
    "soft-aligned": "aligned softly",
    "time-agnostic": "no horizon",
    "gaussian": "ASI, Gaussian likelihood",
    "latent": "ASI, latents",
    "untraced": "ASI, without a trace",
    "untraced-memory": "ASI, a memory for the trace",
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracies and the length of roll-outs."""
    methods = [method for method in METHODS if rows.where(method=method)]
    figure, (left, right) = panels(
        2,
        caption="Left: how often a roll-out shows the right outcome, at equal model evaluations; every seed a dot, the median "
        "a bar. Right: evaluations that a roll-out takes.",
        height=0.8 + 0.3 * len(methods),
    )
    for place, method in enumerate(reversed(methods)):
        some = rows.where(method=method)
        role = {"asi": "ours", "fixed-6": "baseline"}.get(method, "third")
        for axes, key in ((left, "accuracy"), (right, "rollout")):
            axes.plot(some[key], [place] * len(some), "o", color=COLOURS[role], markersize=5, alpha=0.7)
            axes.plot([np.median(some[key])] * 2, [place - 0.3, place + 0.3], color=COLOURS[role])
    for axes, title in ((left, "label accuracy"), (right, "evaluations of a roll-out")):
        axes.set(title=title, yticks=range(len(methods)))
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
    left.set_yticklabels([LABELS[method] for method in reversed(methods)])
    left.set_xlim(-0.02, 1.02)
    right.set_yticklabels([])
    return {"matchings": figure}
