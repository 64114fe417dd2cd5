"""What each way to train makes of the three kinds of items, at the end and on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"averaging": "averaging", "and-mask": "AND-mask", "no-association": "averaging, text without association"}
PARTS = {"associative": "ours", "neutral": "third", "opposed": "baseline"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracies at the end as bars, and neutral and opposed items' over training."""
    return {"parts": _bars(rows), "training": _curves(rows)}


def _bars(rows: Rows) -> Figure:
    figure, (axis,) = panels(
        caption="Accuracy by kind of item; consistency is the share of associative items whose answer changes with the switch. "
        "Bars are means over seeds, dots seeds; the dashed line is guessing.",
        height=3.0,
    )
    ends = rows.where(kind="final")
    methods = [method for method in NAMES if len(ends.where(method=method))]
    keys = {**PARTS, "consistency": "fourth"}
    for index, (key, colour) in enumerate(keys.items()):
        for place, method in enumerate(methods):
            values = ends.where(method=method)[key]
            x = place + 0.2 * (index - 1.5)
            axis.bar(x, np.mean(values), 0.18, color=COLOURS[colour], label=key if place == 0 else None)
            axis.plot([x] * len(values), values, ".", color=COLOURS["ink"], markersize=3)
    axis.axhline(0.5, color=COLOURS["reference"], linestyle="--")
    axis.set_xticks(range(len(methods)), [NAMES[method] for method in methods])
    axis.set_ylabel("share of items")
    axis.set_ylim(0, 1.3)
    axis.legend(ncols=4, fontsize=8, loc="upper center")
    return figure


def _curves(rows: Rows) -> Figure:
    looks = rows.where(kind="look")
    methods = [method for method in NAMES if len(looks.where(method=method))]
    figure, axes = panels(max(1, len(methods)), caption="Accuracy over training; median and range over seeds.", height=2.6)
    for axis, method in zip(axes, methods, strict=False):
        for part, colour in PARTS.items():
            positions, curves = looks.where(method=method).curves("step", part)
            band(axis, positions, curves, part, COLOURS[colour])
        axis.axhline(0.5, color=COLOURS["reference"], linestyle="--")
        axis.set_ylim(-0.03, 1.03)
        axis.set_title(NAMES[method], fontsize=9)
        axis.set_xlabel("step")
    axes[0].set_ylabel("accuracy")
    axes[0].legend(fontsize=7)
    return figure
