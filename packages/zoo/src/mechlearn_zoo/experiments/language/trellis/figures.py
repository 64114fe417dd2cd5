"""Accuracy on permuted digits and likelihood of code, by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"trellis": "trellis", "untied": "untied", "lstm": "LSTM"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both, a dot a seed."""
    figure, axes = panels(
        2,
        caption="Digits pixel by pixel in a random order (left, higher is better) and code (right, lower is better); bars are "
        "means over seeds, dots seeds, with the number of parameters below.",
        height=3.0,
    )
    for axis, kind, key in zip(axes, ("digits", "code"), ("accuracy", "nll"), strict=True):
        some = rows.where(kind=kind)
        present = [name for name in NAMES if len(some.where(model=name))]
        for place, name in enumerate(present):
            values = some.where(model=name)[key]
            axis.bar(place, np.mean(values), 0.6, color=colour(place))
            axis.plot([place] * len(values), values, ".", color=COLOURS["ink"])
        sizes = [int(some.where(model=name)["parameters"][0]) for name in present]
        axis.set_xticks(range(len(present)), [f"{NAMES[n]}\n{s / 1000:.0f} k" for n, s in zip(present, sizes, strict=True)])
    axes[0].set_ylabel("accuracy")
    axes[1].set_ylabel("negative log-likelihood a token")
    return {"models": figure}
