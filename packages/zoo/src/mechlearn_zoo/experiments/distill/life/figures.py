"""Test accuracy against the number of training boards (figure 4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, number, panels
from mechlearn_zoo.experiments.distill.life.measures import best_trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "meta": "LDT",
    "random": "fixed random teacher",
    "oracle": "fixed oracle teacher",
    "none": "no teacher",
    "meta-adam": "LDT, Adam outside",
    "meta-inner-sgd": "LDT, SGD inside",
    "oracle-two": "oracle, two layers a generation",
}
ROLES = {
    "meta": "ours",
    "random": "fourth",
    "oracle": "third",
    "none": "baseline",
    "meta-adam": "fifth",
    "meta-inner-sgd": "sixth",
    "oracle-two": "reference",
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw test accuracy against the number of boards (figure 4.6)."""
    return {"accuracy": draw_accuracy(rows)}


def draw_accuracy(rows: Rows) -> Figure:
    """Draw test accuracy against the number of boards (figure 4.6)."""
    counts = sorted({int(number(row, "examples")) for row in rows})
    figure, (axes,) = panels(
        caption="Test accuracy against the number of training boards (figure 4.6): for each method the trial and the time that "
        "are best on held-out boards; median over seeds with the range. Dotted: always the more frequent answer.",
        height=3.2,
    )
    methods = [method for method in LABELS if rows.where(method=method)]
    for place, method in enumerate(methods):
        lines = np.array([best_trials(rows, method, count)["selected"] for count in counts]).T
        aside = np.array(counts) * 1.03 ** (place - (len(methods) - 1) / 2)  # seeds of different methods side by side
        band(axes, aside, lines, LABELS[method], COLOURS[ROLES[method]])
        axes.plot(np.broadcast_to(aside, lines.shape).T, lines.T, "o", color=COLOURS[ROLES[method]], markersize=5, alpha=0.8)
    majority = float(np.median(rows["majority"]))
    axes.axhline(majority, color=COLOURS["reference"], linestyle=":")
    axes.set(xlabel="training boards", ylabel="test accuracy", xscale="log", xticks=counts, ylim=(0.45, 1.02))
    axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
    axes.set_xticklabels([str(count) for count in counts])
    axes.minorticks_off()
    axes.legend()
    return figure
