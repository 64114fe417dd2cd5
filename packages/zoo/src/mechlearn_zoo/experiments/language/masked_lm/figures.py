"""Accuracy by number of labelled windows, and the loss of pretraining."""

import numpy as np

from claimlab import Rows, band, colour, panels
from mechlearn_zoo.learners.plots import Figure, curves, legend_below

NAMES = {
    "masked": "both sides, pretrained", "causal": "from the left, pretrained", "two-way": "two LSTMs, pretrained",
    "masked-scratch": "both sides, not pretrained", "causal-scratch": "from the left, not pretrained",
    "masked-frozen": "both sides, frozen",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both."""
    figure, axes = panels(
        2,
        caption="Share of names whose role is told, by labelled windows (left), and validation loss per predicted token over "
        "pretraining (right); median and range over seeds.",
        height=3.7,
    )
    ends = rows.where(kind="final")
    counts = sorted({int(count) for count in ends["labelled"]})
    for index, (arm, label) in enumerate(NAMES.items()):
        some = ends.where(arm=arm)
        if len(some):
            seeds = [[group.where(labelled=count)["accuracy"][0] for count in counts] for group in some.by("seed").values()]
            band(axes[0], counts, np.array(seeds), label, colour(index))
    axes[0].set_xscale("log", base=2)
    axes[0].set(xlabel="labelled windows", ylabel="accuracy")
    axes[0].set_xticks(counts, [str(count) for count in counts])
    legend_below(figure, axes[0], 3)
    looks = {name: (NAMES[name], colour(index)) for index, name in enumerate(("masked", "causal", "two-way"))}
    curves(axes[1], rows.where(kind="pretraining"), "step", "loss", "model", looks)
    axes[1].set(xlabel="step of pretraining", ylabel="loss per predicted token")
    return {"labels": figure}
