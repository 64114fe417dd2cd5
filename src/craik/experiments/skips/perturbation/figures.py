"""Accuracy before and after the switch (figure 2.11)."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.skips.outcomes import LABELS, ROLES, methods_of
from craik.lab import COLOURS, Rows, band, number, panels


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy against evaluations, with the switch (figure 2.11)."""
    figure, (axes,) = panels(
        caption="Label accuracy on standard validation boards. Before the dotted line training boards do not bounce, after it "
        "they are the standard ones. Median over seeds, with the band from the lowest to the highest seed.",
        height=3.2,
    )
    for method in methods_of(rows):
        seeds = rows.where(method=method).by("seed").values()
        spent = np.median([some["evaluations"] for some in seeds], axis=0) / 1000
        band(axes, spent, [some["accuracy"] for some in seeds], LABELS[method], COLOURS[ROLES[method]])
    axes.axvline(number(rows[0], "switch") / 1000, color=COLOURS["reference"], linestyle=":")
    axes.set(xlabel="model evaluations, thousands", ylabel="label accuracy", ylim=(-0.02, 1.02))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return {"switch": figure}
