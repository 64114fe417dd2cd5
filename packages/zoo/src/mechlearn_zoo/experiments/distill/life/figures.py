"""Test accuracy against the number of training boards (figure 4.6)."""

import numpy as np

from claimlab import COLOURS, Rows, band, number, panels
from mechlearn_zoo.experiments.distill.life.measures import best_trials
from mechlearn_zoo.learners.plots import Figure, level

LOOKS = {
    "meta": ("LDT", "ours"), "random": ("fixed random teacher", "fourth"), "oracle": ("fixed oracle teacher", "third"),
    "none": ("no teacher", "baseline"), "meta-adam": ("LDT, Adam outside", "fifth"),
    "meta-inner-sgd": ("LDT, SGD inside", "sixth"), "oracle-two": ("oracle, two layers a generation", "reference"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw test accuracy against the number of boards (figure 4.6)."""
    counts = sorted({int(number(row, "examples")) for row in rows})
    figure, (axes,) = panels(
        caption="Test accuracy against the number of training boards (figure 4.6): for each method the trial and the time that "
        "are best on held-out boards; median over seeds with the range. Dotted: always the more frequent answer.",
        height=3.2,
    )
    methods = [method for method in LOOKS if rows.where(method=method)]
    for place, method in enumerate(methods):
        lines = np.array([best_trials(rows, method, count)["selected"] for count in counts]).T
        aside = np.array(counts) * 1.03 ** (place - (len(methods) - 1) / 2)  # seeds of different methods side by side
        label, role = LOOKS[method]
        band(axes, aside, lines, label, COLOURS[role])
        axes.plot(np.broadcast_to(aside, lines.shape).T, lines.T, "o", color=COLOURS[role], markersize=5, alpha=0.8)
    level(axes, float(np.median(rows["majority"])))
    axes.set(xlabel="training boards", ylabel="test accuracy", xscale="log", xticks=counts, ylim=(0.45, 1.02))
    axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
    axes.set_xticklabels([str(count) for count in counts])
    axes.minorticks_off()
    axes.legend()
    return {"accuracy": figure}
