"""Test errors of all methods at equal computation, every seed a dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, number, panels
from mechlearn_zoo.experiments.distill.measured import best_of_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = {"xor": "task A", "noisy-labels": "task B", "body": "Swimmer"}
LABELS = {
    "no-teacher": "no teacher",
    "auxiliary": "auxiliary head",
    "gated": "... gated",
    "hindsight": "hindsight modelling",
    "contrast": "contrast (CPC)",
    "generalised": "generalised distillation",
    "ldt": "LDT",
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the selected test errors."""
    tasks = [task for task in TASKS if rows.where(task=task)]
    methods = [method for method in LABELS if rows.where(method=method)]
    figure, all_axes = panels(
        len(tasks),
        caption="Test error at equal computation, of the trial and the time that are best on held-out examples: every seed a "
        "dot, the median a bar. Task A: share of wrong answers; task B: cross-entropy; Swimmer: squared error of the bin.",
        height=1.2 + 0.32 * len(methods),
    )
    for axes, task in zip(all_axes, tasks, strict=True):
        for place, method in enumerate(reversed(methods)):
            found = [number(row, "selected") for row in best_of_seeds(rows.where(task=task, method=method), "selection")]
            role = {"ldt": "ours", "no-teacher": "baseline"}.get(method, "reference")
            axes.plot(found, [place] * len(found), "o", color=COLOURS[role], markersize=5)
            if found:
                axes.plot([np.median(found)] * 2, [place - 0.3, place + 0.3], color=COLOURS[role])
        axes.set(title=TASKS[task], xlabel="test error", yticks=range(len(methods)))
        axes.set_yticklabels([LABELS[method] for method in reversed(methods)] if axes is all_axes[0] else [])
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
    return {"errors": figure}
