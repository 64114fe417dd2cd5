"""Pairs by alignment, and errors of targets by surrogate."""

import numpy as np

from claimlab import Rows, colour, panels
from mechlearn_zoo.experiments.robustness.classifiers import KINDS
from mechlearn_zoo.learners.plots import Figure, columns


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both, of the first pair of digits in the Euclidean norm."""
    figure, axes = panels(
        2, caption="Left: how far a transferred attack raises the target's loss, as a share of what the target's own attack "
        "does, against the alignment of their input gradients; a point a pair and seed. Right: error over eight targets by "
        "surrogate; a point a seed.", height=3.3,
    )  # fmt: skip
    digits = rows[0]["pair"]
    pairs = rows.where(lambda row: row.get("norm", "2") == "2", kind="pair", pair=digits)
    for index, family in enumerate(KINDS):
        some = pairs.where(surrogate=family)
        axes[0].plot(some["alignment"], some["loss_ratio"], ".", markersize=3, color=colour(index), label=family)
    axes[0].set(xlabel="alignment of input gradients", ylabel="rise of the loss, share")
    axes[0].legend(title="surrogate", title_fontsize=9)
    looks = {"H": ("weakly regularised", "baseline"), "L": ("strongly", "ours")}
    errors = {
        look: [
            [float(np.mean(one["error"])) for one in pairs.where(surrogate=kind, surrogate_complexity=key).by("seed").values()]
            for kind in KINDS
        ]
        for key, look in looks.items()
    }
    columns(axes[1], KINDS, errors)
    axes[1].legend()
    axes[1].set_ylabel("error of targets under its attack")
    return {"pairs": figure}
