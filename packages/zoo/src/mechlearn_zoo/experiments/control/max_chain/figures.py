"""Transitions seen by episode, and the share of steps spent in the trap."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Figure, columns

_LOOKS = {
    "max": ("MAX (disagreement, planned)", "ours"), "prediction-error": ("prediction error, planned", "baseline"),
    "bonus": ("count bonus, reactive", "third"), "bootstrap": ("bootstrapped Q", "fourth"), "random": ("random", "reference"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw progress at each length, and the trap."""
    return {"progress": _progress(rows), "trap": _trap(rows)}


def _progress(rows: Rows) -> Figure:
    lengths = rows.where(kind="episode").by("length")
    caption = "Share of all transitions seen, by episode of N + 9 steps; median and range over seeds."
    figure, axes = panels(len(lengths), caption=caption, height=2.8)
    for axis, (length, group) in zip(axes, lengths.items(), strict=True):
        for method, (label, role) in _LOOKS.items():
            episodes, found = group.where(method=method).curves("episode", "share")
            # Who was complete is no longer watched: the curve stays where it ended.
            band(axis, episodes, np.nan_to_num(found, nan=1.0), label, COLOURS[role])
        axis.set(title=f"N = {length}", xlabel="episode")
    axes[0].set_ylabel("share of transitions")
    axes[0].legend(fontsize=6, loc="lower right")
    return figure


def _trap(rows: Rows) -> Figure:
    figure, (axis,) = panels(1, 1, caption="Share of steps in the trap, by length of the chain; a dot a seed.", height=2.6)
    lengths = rows.where(kind="final").by("length")
    trapped = {look: [group.where(method=method)["trapped"] for group in lengths.values()] for method, look in _LOOKS.items()}
    columns(axis, [f"N = {length}" for length in lengths], trapped)
    axis.set_ylabel("share of steps in the trap")
    axis.legend(fontsize=7, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    return figure
