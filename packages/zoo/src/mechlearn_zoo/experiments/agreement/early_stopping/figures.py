"""What the AND-mask adds to averaging, cell by cell, by how both are stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.agreement.early_stopping.claims import Judge, added

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WAYS: tuple[tuple[str, Judge, bool, str], ...] = (
    ("by true labels", "clean", False, "ours"),
    ("by labels as wrong as training's", "noisy", False, "third"),
    ("at the end", "noisy", True, "baseline"),
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the difference in test accuracy for each cell: a panel for each number of images."""
    found = {name: added(rows, judge, end) for name, judge, end, _ in _WAYS}
    sizes = sorted({images for images, _ in next(iter(found.values()))})
    figure, grid = panels(
        len(sizes),
        caption="Test accuracy of the AND-mask less averaging's, each with the trial and the epoch that its validation images "
        "select; a dot for each seed, a bar at their mean. Above the line the mask adds something.",
        height=3.2,
    )
    for axes, images in zip(grid, sizes, strict=True):
        noises = sorted({noise for size, noise in next(iter(found.values())) if size == images})
        for place, (name, _, _, role) in enumerate(_WAYS):
            for at, noise in enumerate(noises):
                values = list(found[name][images, noise].values())
                x = at + 0.22 * (place - 1)
                label = name if at == 0 else None
                axes.plot([x] * len(values), values, "o", color=COLOURS[role], markersize=3, alpha=0.6, label=label)
                axes.plot([x - 0.09, x + 0.09], [np.mean(values)] * 2, color=COLOURS[role], linewidth=2)
        axes.axhline(0, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
        axes.set(title=f"{images} images", xlabel="share of labels redrawn", xticks=range(len(noises)))
        axes.set_xticklabels([f"{noise:g}" for noise in noises])
    grid[0].set(ylabel="AND-mask less averaging")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return {"early-stopping": figure}
