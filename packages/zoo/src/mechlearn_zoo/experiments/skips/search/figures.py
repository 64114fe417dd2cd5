"""Every trial of the search."""

import numpy as np

from claimlab import COLOURS, Rows, number, panels
from mechlearn_zoo.experiments.skips.comparing.outcomes import LABELS, ROLES, methods_of
from mechlearn_zoo.learners.plots import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every trial's accuracy on test episodes against that on validation episodes."""
    figure, (axes,) = panels(
        caption="Every trial of the search: label accuracy on test episodes, trials of a method in the order of their accuracy "
        "on validation episodes. Filled: the trial that the validation episodes select.",
        height=3.2,
    )
    methods = methods_of(rows)
    for position, method in enumerate(methods):
        trials = sorted(rows.where(method=method), key=lambda row: number(row, "validation_accuracy"))
        x = position + (np.linspace(-0.3, 0.3, len(trials)) if len(trials) > 1 else np.zeros(1))
        y = [number(row, "test_accuracy") for row in trials]
        colour = COLOURS[ROLES[method]]
        axes.plot(x, y, "o-", color=colour, markersize=5, linewidth=0.8, markerfacecolor="white")
        axes.plot(x[-1:], y[-1:], "o", color=colour, markersize=8)
    axes.set(ylabel="label accuracy, test", ylim=(-0.03, 1.03))
    axes.set_xticks(range(len(methods)), [LABELS[method].replace(" without", "\nwithout") for method in methods])
    return {"trials": figure}
