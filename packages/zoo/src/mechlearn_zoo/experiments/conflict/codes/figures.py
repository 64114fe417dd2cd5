"""The phase diagram: accuracy at a new site by sites, rows and rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.conflict.codes.run import COMPARED
from mechlearn_zoo.experiments.conflict.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each method's gain over averaging against the rows of a site, a panel a number of sites."""
    ends = rows.where(kind="final")
    counts = sorted({int(count) for count in ends["sites"]})
    figure, axes = panels(
        len(counts), 1, caption="Accuracy at a site with another code less averaging's, by rows of each site; mean over seeds.",
        height=3.2,
    )  # fmt: skip
    for axis, count in zip(axes, counts, strict=True):
        some = ends.where(sites=count)
        sizes = sorted({int(size) for size in some["rows"]})
        base = {size: np.mean(some.where(rows=size, method="mean")["accuracy"]) for size in sizes}
        for index, method in enumerate(COMPARED[1:]):
            gains = [np.mean(some.where(rows=size, method=method)["accuracy"]) - base[size] for size in sizes]
            if method == "and-mask":
                axis.plot(sizes, gains, "s--", color=COLOURS["ink"], label=METHODS[method].label)
            else:
                axis.plot(sizes, gains, "o-", color=colour(index - 1), label=METHODS[method].label)
        axis.set_xscale("log", base=2)
        axis.set_title(f"{count} sites")
        axis.set_xlabel("rows of a site")
    axes[0].set_ylabel("accuracy less averaging's")
    axes[0].legend(fontsize=6.5)
    return {"phases": figure}
