"""How the rules' steps compare along the AND-mask's path, and where training ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RULES = {"geometric": ("geometric mean", "ours"), "sign": ("unanimous sign", "third"), "mean": ("averaging", "baseline")}
_METHODS = {"and-mask": "AND-mask", "geometric": "geometric mean", "mean": "averaging"}
_OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw cosines and lengths of steps beside the AND-mask's, and final accuracies, a point a seed."""
    figure, axes = panels(
        3,
        1,
        caption="Left and middle: steps of Adam and of SGD by three rules, beside the AND-mask's step by the same optimiser, "
        "on the path on which the AND-mask leads Adam: cosine, and length over the AND-mask's. Right: test accuracy of "
        "networks trained by Adam (filled) and by SGD (hollow). A point a seed.",
        height=3.2,
    )
    steps = rows.where(kind="steps", optimizer="adam")
    for axis, key, title in zip(axes[:2], ("cosine", "length"), ("cosine", "length, relative"), strict=True):
        for k, (rule, (label, role)) in enumerate(_RULES.items()):
            for place, optimizer in enumerate(_OPTIMIZERS):
                found = steps.where(of=optimizer)[f"{key}_{rule}"]
                name = label if place == 0 else None
                axis.plot([place + 0.16 * (k - 1)] * len(found), found, "o", color=COLOURS[role], alpha=0.7, label=name)
        axis.set_xticks(range(2), list(_OPTIMIZERS.values()))
        axis.set(title=title, xlim=(-0.5, 1.5))
        axis.axhline(1.0, color=COLOURS["reference"], linewidth=0.8)
    axes[0].set(ylim=(-0.05, 1.05))
    axes[1].set_yscale("log")
    _draw_ends(axes[2], rows)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return {"steps": figure}


def _draw_ends(axes: Axes, rows: Rows) -> None:
    for place, method in enumerate(_METHODS):
        for offset, optimizer in ((-0.12, "adam"), (0.12, "sgd")):
            found = rows.where(kind="final", optimizer=optimizer, method=method)["accuracy"]
            face = COLOURS["ours"] if optimizer == "adam" else "none"
            places = np.full(len(found), place + offset)
            axes.plot(found, places, "o", color=COLOURS["ours"], markerfacecolor=face, alpha=0.7)
    axes.set_yticks(range(len(_METHODS)), list(_METHODS.values()))
    axes.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
    axes.set(title="trained", xlabel="test accuracy", xlim=(0.4, 1.03))
