"""Accuracy before and after the switch (figure 2.11)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from claimlab import COLOURS, Rows, band, number, panels
from mechlearn_zoo.experiments.skips.comparing.outcomes import LABELS, ROLES, methods_of
from mechlearn_zoo.experiments.skips.perturbation.measures import of_schedule
from mechlearn_zoo.learners.plots import Figure, legend_below


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy against evaluations, with the switch (figure 2.11)."""
    figure, (axes,) = panels(
        caption="Label accuracy on standard validation boards. Before the dotted line training boards do not bounce, after it "
        "they are the standard ones. Median over seeds, with the band from the lowest to the highest seed. Dashed, where "
        "there is a control: the standard boards throughout.",
        height=3.2,
    )
    by_epochs = rows[0].get("unit") == "episodes"
    for method in methods_of(rows):
        label, colour = LABELS[method], COLOURS[ROLES[method]]
        switched, control = (
            of_schedule(rows, name).where(method=method).by("seed").values() for name in ("switch", "standard")
        )
        if switched:
            band(axes, _spent(switched, by_epochs), [some["accuracy"] for some in switched], label, colour)
        if control:
            line = np.median([some["accuracy"] for some in control], axis=0)
            axes.plot(_spent(control, by_epochs), line, color=colour, linestyle="--", linewidth=1)
    share = number(rows[0], "switch") / number(rows[0], "budget")
    switch = share * max(rows["epochs"]) if by_epochs else number(rows[0], "switch") / 1000
    axes.axvline(switch, color=COLOURS["reference"], linestyle=":")
    xlabel = "epochs" if by_epochs else "model evaluations, thousands"
    axes.set(xlabel=xlabel, ylabel="label accuracy", ylim=(-0.02, 1.02))
    legend_below(figure, axes, 3)
    return {"switch": figure}


def _spent(seeds: Iterable[Rows], by_epochs: bool) -> np.ndarray[Any, np.dtype[Any]]:
    """Return epochs, or thousands of evaluations, at each check; the median over seeds."""
    column, unit = ("epochs", 1) if by_epochs else ("evaluations", 1000)
    return np.median(np.array([some[column] for some in seeds]) / unit, axis=0)
