"""Every task's score at the end by method, and the worst task on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.control.popart_tasks.measures import LAST
from mechlearn_zoo.experiments.control.popart_tasks.run import METHODS, PRIZES, SCALES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "none": "nothing", "clipping": "clipping", "popart": "PopArt", "popart-clipping": "PopArt, clipping",
    "and-mask": "AND-mask", "normalised": "normalised", "and-mask-normalised": "AND-mask, normalised",
    "popart-and-mask": "PopArt, AND-mask",
}  # fmt: skip
SHADES = {
    "none": "baseline", "clipping": "fourth", "popart": "ours", "popart-clipping": "third", "and-mask": "fifth",
    "normalised": "reference", "and-mask-normalised": "sixth", "popart-and-mask": "ink",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw a map of methods by tasks, and curves of mean and worst task."""
    figure, (axes,) = panels(
        caption="Score of each task at the end (1 is the best, -0.6 chance with one ball), mean over seeds. Tasks by the scale "
        "of their rewards; those with a star have a second ball that is worth a hundredth.", height=3.2,
    )  # fmt: skip
    order = sorted(range(len(SCALES)), key=lambda task: (SCALES[task], task))
    cells = np.array([[_score(rows, method, task) for task in order] for method in METHODS])
    image = axes.imshow(cells, vmin=-1, vmax=1, cmap="RdYlBu", aspect="auto")
    for (y, x), value in np.ndenumerate(cells):
        axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=8, color=COLOURS["ink"])
    axes.set_xticks(range(len(order)), [f"x {SCALES[task]:g}{'*' if task in PRIZES else ''}" for task in order])
    axes.set_yticks(range(len(METHODS)), [LABELS[method] for method in METHODS])
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, label="score")
    return {"tasks": figure, "curves": _curves(rows)}


def _score(rows: Rows, method: str, task: int) -> float:
    groups = rows.where(method=method).by("seed").values()
    return float(np.mean([np.mean(group[f"task_{task}"][-LAST:]) for group in groups]))


def _curves(rows: Rows) -> Figure:
    figure, axes = panels(2, 1, caption="Mean over tasks and worst task; median and range over seeds.", height=3.2)
    for axis, key in zip(axes, ("mean", "worst"), strict=True):
        for method in METHODS:
            x, lines = rows.where(method=method).curves("frames", key)
            band(axis, np.asarray(x) / 1000, lines, LABELS[method], COLOURS[SHADES[method]])
        axis.set(xlabel="1000 frames", title=f"{key} task" if key == "worst" else "mean over tasks", ylim=(-1.05, 1.05))
    axes[0].set_ylabel("score")
    axes[0].legend(fontsize=6.5)
    return figure
