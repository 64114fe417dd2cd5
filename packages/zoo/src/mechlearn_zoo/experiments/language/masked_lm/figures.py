"""Accuracy by number of labelled windows, and the loss of pretraining."""

import numpy as np

from claimlab import Rows, band, colour, panels
from mechlearn_zoo.learners.plots import Figure, curves

NAMES = {
    "masked": "both sides, pretrained", "causal": "from the left, pretrained", "two-way": "two LSTMs, pretrained",
    "masked-scratch": "both sides, not pretrained", "causal-scratch": "from the left, not pretrained",
    "masked-frozen": "both sides, frozen",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy of pretrained encoders, of the others, and the losses."""
    figure, axes = panels(
        3,
        caption="Share of names whose role is told, by labelled windows, of encoders that are pretrained (left), and of others "
        "(middle); validation loss per predicted token over pretraining (right); median and range over seeds.",
        height=3.7,
    )
    ends = rows.where(kind="final")
    counts = sorted({int(count) for count in ends["labelled"]})
    for index, (arm, label) in enumerate(NAMES.items()):
        some = ends.where(arm=arm)
        if len(some):
            seeds = [[group.where(labelled=count)["accuracy"][0] for count in counts] for group in some.by("seed").values()]
            band(axes[int(label.endswith(("not pretrained", "frozen")))], counts, np.array(seeds), label, colour(index))
    for axis, title in zip(axes, ("accuracy: pretrained", "not pretrained, frozen"), strict=False):
        axis.set_xscale("log", base=2)
        axis.set(xlabel="labelled windows", ylim=(0, 1))
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.set_title(title, fontsize=9)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    looks = {name: (NAMES[name], colour(index)) for index, name in enumerate(("masked", "causal", "two-way"))}
    curves(axes[2], rows.where(kind="pretraining"), "step", "loss", "model", looks)
    axes[2].set(xlabel="step of pretraining")
    axes[2].set_title("loss per predicted token", fontsize=9)
    return {"labels": figure}
