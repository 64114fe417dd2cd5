"""Accuracy while training (figures 2.9 and 2.10), and every seed's accuracy at the end."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.skips.comparing.outcomes import LABELS, ROLES, methods_of
from mechlearn_zoo.learners.plots import Figure, legend_below, lines_of_dots


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
    legend_below(figure, left, 3)
    return figure


def outcomes(rows: Rows) -> Figure:
    """Draw each seed's accuracy on test episodes at the end of the budget."""
    figure, (axes,) = panels(
        caption=f"Label accuracy on test episodes after the same number of {_spent(rows)}: every seed a point, the bar is the "
        "median.",
        height=2.8,
    )
    methods = methods_of(rows.where(kind="final"))
    lines_of_dots(axes, {LABELS[one]: (rows.where(kind="final", method=one)["test_accuracy"], ROLES[one]) for one in methods})
    axes.set(xlabel="label accuracy, test", xlim=(-0.03, 1.03))
    return figure


def _spent(rows: Rows) -> str:
    """What the methods spent equally much of; rows of a time when they did not say are of equal evaluations."""
    return "epochs" if rows.where(unit="episodes") else "model evaluations"


def _in_order(rows: Rows) -> list[Rows]:
    """The rows of the first check of every seed, of the second, and so on."""
    return [Rows(check) for check in zip(*rows.by("seed").values(), strict=False)]
