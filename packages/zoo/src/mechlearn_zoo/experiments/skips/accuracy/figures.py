"""Accuracy while training (figures 2.9 and 2.10), and every seed's accuracy at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.skips.comparing.outcomes import LABELS, ROLES, methods_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy against evaluations and epochs (figures 2.10 and 2.9), and every seed's accuracy on test episodes."""
    return {"learning-curves": learning_curves(rows), "outcomes": outcomes(rows)}


def learning_curves(rows: Rows) -> Figure:
    """Draw accuracy on validation episodes against model evaluations and against epochs."""
    figure, (left, right) = panels(
        2,
        caption="Label accuracy on validation episodes while training, against the model evaluations spent (left) and against "
        "epochs (right): median over seeds, with the band from the first to the third quartile. All methods end after the same "
        f"number of {_spent(rows)}; one that skips frames makes fewer evaluations in an epoch.",
        height=3.1,
    )
    for method in methods_of(rows.where(kind="final")):
        checks = _in_order(rows.where(kind="curve", method=method))
        label, colour = LABELS[method], COLOURS[ROLES[method]]
        spent = [float(np.median(check["evaluations"])) for check in checks]
        epochs = [float(np.median(check["epochs"])) for check in checks]
        lines = np.array([check["validation_accuracy"] for check in checks]).T
        band(left, np.array(spent) / 1000, lines, label, colour, spread="quartiles")
        band(right, epochs, lines, label, colour, spread="quartiles")
    left.set(xlabel="model evaluations, thousands", ylabel="label accuracy", ylim=(-0.02, 1.02))
    right.set(xlabel="epochs", ylim=(-0.02, 1.02))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def outcomes(rows: Rows) -> Figure:
    """Draw each seed's accuracy on test episodes at the end of the budget."""
    figure, (axes,) = panels(
        caption=f"Label accuracy on test episodes after the same number of {_spent(rows)}: every seed a point, the bar is the "
        "median.",
        height=2.8,
    )
    methods = methods_of(rows.where(kind="final"))
    for position, method in enumerate(methods):
        found = rows.where(kind="final", method=method)["test_accuracy"]
        colour = COLOURS[ROLES[method]]
        spread = np.linspace(-0.14, 0.14, len(found)) if len(found) > 1 else [0.0]
        axes.plot(position + np.asarray(spread), found, "o", color=colour, markersize=5, alpha=0.75)
        axes.hlines(float(np.median(found)), position - 0.28, position + 0.28, color=colour, linewidth=2.4)
    axes.set(ylabel="label accuracy, test", ylim=(-0.03, 1.03))
    axes.set_xticks(range(len(methods)), [LABELS[method].replace(" without", "\nwithout") for method in methods])
    return figure


def _spent(rows: Rows) -> str:
    """What the methods spent equally much of; rows of a time when they did not say are of equal evaluations."""
    return "epochs" if rows.where(unit="episodes") else "model evaluations"


def _in_order(rows: Rows) -> list[Rows]:
    """The rows of the first check of every seed, of the second, and so on."""
    return [Rows(check) for check in zip(*rows.by("seed").values(), strict=False)]
