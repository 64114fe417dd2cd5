"""Pairs by alignment, errors of targets under their own attack, and of targets by surrogate."""

import numpy as np

from claimlab import Rows, colour, panels
from mechlearn_zoo.experiments.robustness.classifiers import KINDS
from mechlearn_zoo.learners.plots import Figure, columns


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all three, of the first pair of digits in the Euclidean norm."""
    figure, axes = panels(
        3, caption="Left: error of each kind of target under its own attack. Middle: how far a transferred attack raises the "
        "target's loss, as a share of what the target's own attack does, against the alignment of their input gradients; a "
        "point a pair and seed. Right: error over eight targets by surrogate. Bars are means, points seeds.", height=3.3,
    )  # fmt: skip
    digits = rows[0]["pair"]
    pairs = rows.where(lambda row: row.get("norm", "2") == "2", kind="pair", pair=digits)
    for index, family in enumerate(KINDS):
        some = pairs.where(surrogate=family)
        axes[1].plot(some["alignment"], some["loss_ratio"], ".", markersize=3, color=colour(index), label=family)
    axes[1].set(xlabel="alignment of gradients")
    axes[1].legend(fontsize=7, handletextpad=0.2)
    looks = {"H": ("weakly regularised", "baseline"), "L": ("strongly", "ours")}
    models = rows.where(lambda row: row.get("norm", "2") == "2", kind="model", pair=digits)
    own = {look: [models.where(family=kind, complexity=key)["white_box"] for kind in KINDS] for key, look in looks.items()}
    errors = {
        look: [
            [float(np.mean(one["error"])) for one in pairs.where(surrogate=kind, surrogate_complexity=key).by("seed").values()]
            for kind in KINDS
        ]
        for key, look in looks.items()
    }
    for axis, values in ((axes[0], own), (axes[2], errors)):
        columns(axis, KINDS, values, bars=True, fontsize=7)
        axis.set_ylim(0, 1)
    for axis, title in zip(
        axes, ("attacked targets: error", "transfer: rise of the loss", "surrogates: targets' error"), strict=True
    ):
        axis.set_title(title, fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    return {"pairs": figure}
