"""Accuracy on held-out environments against each setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.spirals.search.run import DRAWN

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every trial's accuracy on held-out environments against each setting."""
    trials = rows.where(kind="trial")
    figure, all_axes = panels(
        3,
        2,
        caption="Every trial: accuracy on held-out environments against each setting (positions jittered). "
        "Red: the printed best setting.",
        height=4.6,
    )
    jitter = np.random.default_rng(0)
    for axes, key in zip(all_axes, DRAWN, strict=True):
        values = sorted({row[key] for row in trials}, key=lambda value: (isinstance(value, str), value))
        for index, value in enumerate(values):
            some = trials.where(**{key: value})
            x = index + jitter.uniform(-0.15, 0.15, len(some))
            colours = [COLOURS["baseline"] if row["seed"] == 0 else COLOURS["ours"] for row in some]
            axes.scatter(x, some["validation_accuracy"], s=16, c=colours)
        axes.set(title=key.replace("_", " "), ylim=(0.4, 1.03), xticks=range(len(values)))
        axes.set_xticklabels([f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    return {"trials": figure}
