"""Accuracy on the way, at the end with more agents, and with new teammates."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.worlds.forward_models.run import MODELS, RULES
from craik.lab import COLOURS, Rows, colour, panels


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw training curves beside what both rules make of teams with habits."""
    figure, (curves, bars, edges) = panels(
        3, 1, height=3.0,
        caption="Left: accuracy of the next action on unseen hunts, medians over seeds; dotted, repeating the last action. "
        "Middle: models trained on teams with habits, by averaging and by the AND-mask, on these teams and on new ones. "
        "Right: how well edge norms and nearness alone say where an agent will stand within five steps.",
    )  # fmt: skip
    for index, name in enumerate(MODELS):
        some = rows.where(kind="curve", model=name)
        steps = sorted({int(step) for step in some["step"]})
        curves.plot(steps, [np.median(some.where(step=step)["accuracy"]) for step in steps], color=colour(index), label=name)
    curves.axhline(float(np.median(rows.where(kind="persistence")["accuracy"])), color=COLOURS["reference"], linestyle=":")
    curves.set(xlabel="step", ylabel="accuracy")
    curves.legend(fontsize=6)
    for index, rule in enumerate(RULES):
        found = rows.where(kind="teams", rule=rule)
        values = [float(np.median(found[key])) for key in ("known", "new")]
        role = COLOURS["baseline" if rule == "averaging" else "ours"]
        bars.bar(np.arange(2) + 0.38 * index - 0.19, values, 0.36, color=role, label=rule)
    bars.set(xticks=[0, 1], xticklabels=["known teams", "new teams"], ylim=(0, 1))
    bars.legend(fontsize=7)
    found = rows.where(kind="edges")
    edges.bar([0, 1], [float(np.median(found[key])) for key in ("norms", "nearness")], 0.5, color=COLOURS["third"])
    edges.axhline(0.5, color=COLOURS["reference"], linestyle=":")
    edges.set(xticks=[0, 1], xticklabels=["edge norm", "nearness"], ylim=(0, 1), ylabel="area under ROC")
    return {"accuracy": figure}
