"""Transitions seen by episode, and the share of steps spent in the trap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {
    "max": "MAX (disagreement, planned)",
    "prediction-error": "prediction error, planned",
    "bonus": "count bonus, reactive",
    "bootstrap": "bootstrapped Q",
    "random": "random",
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw progress at each length, and the trap."""
    return {"progress": _progress(rows), "trap": _trap(rows)}


def _progress(rows: Rows) -> Figure:
    lengths = rows.where(kind="episode").by("length")
    figure, axes = panels(
        len(lengths),
        1,
        caption="Share of all transitions seen, by episode of N + 9 steps; median and range over seeds.",
        height=2.8,
    )
    for axis, (length, group) in zip(axes, lengths.items(), strict=True):
        for index, (method, label) in enumerate(_LABELS.items()):
            episodes, curves = group.where(method=method).curves("episode", "share")
            # Who was complete is no longer watched: the curve stays where it ended.
            held = [[value if value == value else 1.0 for value in curve] for curve in curves]  # noqa: PLR0124  # NaN
            shade = COLOURS["reference"] if method == "random" else colour(index)
            band(axis, episodes, held, label, shade)
        axis.set_title(f"N = {length}")
        axis.set_xlabel("episode")
    axes[0].set_ylabel("share of transitions")
    axes[0].legend(fontsize=6, loc="lower right")
    return figure


def _trap(rows: Rows) -> Figure:
    figure, (axis,) = panels(1, 1, caption="Share of steps in the trap, by length of the chain; a dot a seed.", height=2.6)
    lengths = rows.where(kind="final").by("length")
    for place, group in enumerate(lengths.values()):
        for index, method in enumerate(_LABELS):
            found = group.where(method=method)["trapped"]
            shade = COLOURS["reference"] if method == "random" else colour(index)
            label = _LABELS[method] if place == 0 else None
            axis.scatter(np.full(len(found), place + 0.15 * (index - 2)), found, s=14, color=shade, label=label)
    axis.set_xticks(range(len(lengths)), [f"N = {length}" for length in lengths])
    axis.set_ylabel("share of steps")
    axis.legend(fontsize=7)
    return figure
