"""Accuracy by number of labelled windows, and the loss of pretraining."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import Rows, band, colour, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {
    "masked": "both sides, pretrained", "causal": "from the left, pretrained", "two-way": "two LSTMs, pretrained",
    "masked-scratch": "both sides, not pretrained", "causal-scratch": "from the left, not pretrained",
    "masked-frozen": "both sides, frozen", "distilled": "from the left, taught",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both."""
    figure, axes = panels(
        2,
        caption="Share of names whose role is told, by labelled windows (left; means over seeds), and validation loss a "
        "predicted token over pretraining (right; median and range).",
        height=3.4,
    )
    ends = rows.where(kind="final")
    counts = sorted({int(count) for count in ends["labelled"]})
    for index, (arm, label) in enumerate(NAMES.items()):
        some = ends.where(arm=arm)
        if len(some):
            means = [np.mean(some.where(labelled=count)["accuracy"]) for count in counts]
            axes[0].plot(counts, means, "o-", color=colour(index), label=label)
    axes[0].set_xscale("log", base=2)
    axes[0].set_xlabel("labelled windows")
    axes[0].set_ylabel("accuracy")
    axes[0].legend(fontsize=6)
    for index, name in enumerate(("masked", "causal", "two-way")):
        positions, curves = rows.where(kind="pretraining", model=name).curves("step", "loss")
        band(axes[1], positions, curves, NAMES[name], colour(index))
    axes[1].set_xlabel("step of pretraining")
    axes[1].set_ylabel("loss a predicted token")
    return {"labels": figure}
