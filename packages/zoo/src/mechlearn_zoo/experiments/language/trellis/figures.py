"""Accuracy on permuted digits and likelihood of code, by model."""

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, columns

NAMES = {"trellis": "trellis", "untied": "untied", "lstm": "LSTM"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both, a dot a seed."""
    figure, axes = panels(
        2, height=3.0, caption="Digits pixel by pixel in a random order (left, higher is better) and code (right, lower is "
        "better); bars are means over seeds, dots seeds, with the number of parameters below.",
    )  # fmt: skip
    for axis, kind, key in zip(axes, ("digits", "code"), ("accuracy", "nll"), strict=True):
        some = rows.where(kind=kind)
        present = [name for name in NAMES if len(some.where(model=name))]
        sizes = [some.where(model=name)["parameters"][0] / 1000 for name in present]
        names = [f"{NAMES[name]}\n{size:.0f} k" for name, size in zip(present, sizes, strict=True)]
        columns(axis, names, {("", "ours"): [some.where(model=name)[key] for name in present]}, bars=True)
    axes[0].set_ylabel("accuracy")
    axes[1].set_ylabel("negative log-likelihood per token")
    return {"models": figure}
