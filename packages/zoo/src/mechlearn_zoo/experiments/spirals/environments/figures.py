"""Test accuracy against the number of environments (figure B.6)."""

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.learners.plots import Figure, level
from mechlearn_zoo.learners.spirals.methods import LABELS, ROLES


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw test accuracy against the number of environments: the best run and every run (figure B.6)."""
    figure, (axes,) = panels(
        caption="Test accuracy against the number of training environments. Line: the best run, as in the texts; dots: every "
        "seed. The examples of all environments together are the same everywhere. Dotted: chance.",
        height=2.9,
    )
    for method in ("and-mask", "mean"):
        some, colour = rows.where(method=method), COLOURS[ROLES[method]]
        if some:
            counts, lines = some.curves("environments", "test_accuracy")
            axes.plot(counts, np.nanmax(lines, axis=0), color=colour, label=LABELS[method])
            for line in lines:
                axes.plot(counts, line, ".", color=colour, alpha=0.6)
    level(axes, 0.5)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="training environments", ylabel="test accuracy", ylim=(0.4, 1.03))
    axes.legend(loc="center right")
    return {"environments": figure}
