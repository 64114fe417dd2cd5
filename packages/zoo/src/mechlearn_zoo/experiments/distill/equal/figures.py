"""Test errors of all methods at equal computation, every seed a dot."""

from claimlab import Rows, number, panels
from mechlearn_zoo.experiments.distill.measured import best_of_seeds
from mechlearn_zoo.learners.plots import Figure, lines_of_dots

TASKS = {"xor": "task A", "noisy-labels": "task B", "body": "Swimmer"}
LABELS = {
    "no-teacher": "no teacher", "auxiliary": "auxiliary head", "gated": "... gated", "hindsight": "hindsight modelling",
    "contrast": "contrast (CPC)", "generalised": "generalised distillation", "ldt": "LDT",
}  # fmt: skip


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
        best = {method: best_of_seeds(rows.where(task=task, method=method), "selection") for method in methods}
        roles = {"ldt": "ours", "no-teacher": "baseline"}
        found = {
            LABELS[method]: ([number(row, "selected") for row in some], roles.get(method, "reference"))
            for method, some in best.items()
        }
        lines_of_dots(axes, found, named=axes is all_axes[0])
        axes.set(title=TASKS[task], xlabel="test error")
    return {"errors": figure}
