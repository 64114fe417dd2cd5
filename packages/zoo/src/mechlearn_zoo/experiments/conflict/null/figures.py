"""The share masked of noise against the level, and accuracies on exchangeable sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.conflict.null.run import COMPARED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the shares by environments and rows, and every seed's difference of accuracy from averaging."""
    figure, axes = panels(
        2, 1, caption="Left: share of noise that Gail-Simon's rule masks over its level 0.2, by environments and rows "
        "(examples as parts); 1 is what it may at most. Right: accuracy less averaging's on exchangeable "
        "sites, a point a seed.", height=3.2,
    )  # fmt: skip
    noise = rows.where(kind="noise", method="qualitative", parts="examples", level=0.2)
    for index, (count, group) in enumerate(sorted(noise.by("rows").items())):
        sizes = sorted({int(e) for e in group["environments"]})
        shares = [float(np.mean(group.where(environments=e)["masked"])) / 0.2 for e in sizes]
        axes[0].plot(sizes, shares, "o-", color=colour(index), label=f"{count} rows")
    axes[0].axhline(1.0, color=COLOURS["reference"], linewidth=0.8)
    axes[0].set_xlabel("environments")
    axes[0].legend()
    for place, method in enumerate(COMPARED[1:]):
        base = rows.where(kind="final", method="mean")["accuracy"]
        found = np.array(rows.where(kind="final", method=method)["accuracy"]) - np.array(base)
        axes[1].plot(found, [place] * len(found), "o", color=COLOURS["ours"], alpha=0.5)
    axes[1].set_yticks(range(len(COMPARED) - 1), COMPARED[1:])
    axes[1].axvline(0.0, color=COLOURS["reference"], linewidth=0.8)
    return {"null": figure}
