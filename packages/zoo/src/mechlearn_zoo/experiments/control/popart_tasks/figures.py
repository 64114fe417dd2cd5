"""Every task's score at the end by method, and the worst task on the way."""

import numpy as np

from claimlab import Rows, panels
from mechlearn_zoo.experiments.control.popart_tasks.measures import LAST
from mechlearn_zoo.experiments.control.popart_tasks.run import PRIZES, SCALES
from mechlearn_zoo.learners.plots import Figure, curves, table

LOOKS = {
    "none": ("nothing", "baseline"), "popart": ("PopArt", "ours"), "clipping": ("clipping", "fourth"),
    "popart-clipping": ("PopArt, clipping", "third"), "normalised": ("normalised", "reference"),
    "and-mask": ("AND-mask", "fifth"), "and-mask-normalised": ("AND-mask, normalised", "sixth"),
    "popart-and-mask": ("PopArt, AND-mask", "ink"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw a map of methods by tasks, and curves of mean and worst task."""
    figure, (axes,) = panels(
        caption="Score of each task at the end (1 is the best, -0.6 chance with one ball), mean over seeds. Tasks by the scale "
        "of their rewards; those with a star have a second ball that is worth a hundredth.", height=3.2,
    )  # fmt: skip
    order = sorted(range(len(SCALES)), key=lambda task: (SCALES[task], task))
    cells = np.array([[_score(rows, method, task) for task in order] for method in LOOKS])
    tasks = [f"x {SCALES[task]:g}{'*' if task in PRIZES else ''}" for task in order]
    image = table(axes, cells, tasks, [label for label, _ in LOOKS.values()], "RdYlBu", (-1, 1))
    figure.colorbar(image, ax=axes, label="score")
    return {"tasks": figure, "curves": _curves(rows)}


def _score(rows: Rows, method: str, task: int) -> float:
    groups = rows.where(method=method).by("seed").values()
    return float(np.mean([np.mean(group[f"task_{task}"][-LAST:]) for group in groups]))


def _curves(rows: Rows) -> Figure:
    figure, axes = panels(2, 1, caption="Mean over tasks and worst task; median and range over seeds.", height=3.2)
    for axis, key in zip(axes, ("mean", "worst"), strict=True):
        curves(axis, rows, "frames", key, "method", LOOKS, per=1000)
        axis.set(xlabel="1000 frames", title=f"{key} task" if key == "worst" else "mean over tasks", ylim=(-1.05, 1.05))
    axes[0].set_ylabel("score")
    axes[0].legend(fontsize=6.5)
    return figure
