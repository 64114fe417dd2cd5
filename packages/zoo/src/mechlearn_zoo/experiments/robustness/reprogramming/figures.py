"""Accuracies by host and state, and on hosts that a program has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.robustness.reprogramming.run import STATES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTS = ("cnn", "mlp", "linear")


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the tasks, and programs that hosts share."""
    figure, axes = panels(
        3, caption="Accuracy of programs, bars: mean over seeds, points: seeds; grey lines: one in ten. Left and middle by "
        "host: "
        "trained on letters, random, and random with logits of the trained one's spread. Right: programs trained on several "
        "perceptrons, tried on these and on a new one.", height=2.9,
    )  # fmt: skip
    for axis, task in zip(axes, ("digits", "squares"), strict=False):
        for index, state in enumerate(STATES):
            for place, host in enumerate(HOSTS):
                found = rows.where(kind="host", host=host, state=state, task=task)["accuracy"]
                at = place + (index - 1) * 0.27
                label = state if place == 0 else None
                axis.bar(at, float(np.mean(found)), width=0.24, color=colour(index), alpha=0.55, label=label)
                axis.plot([at] * len(found), found, ".", markersize=3, color=colour(index))
        axis.set_xticks(range(len(HOSTS)), HOSTS)
        axis.set_title(task)
    for place, rule in enumerate(("one host", "mean", "and-mask")):
        for index, key in enumerate(("own", "new")):
            found = rows.where(kind="shared", rule=rule)[key]
            at = place + (index - 0.5) * 0.35
            label = {"own": "hosts it was made on", "new": "a new host"}[key] if place == 0 else None
            axes[2].bar(at, float(np.mean(found)), width=0.3, color=colour(3 + index), alpha=0.55, label=label)
            axes[2].plot([at] * len(found), found, ".", markersize=3, color=colour(3 + index))
    axes[2].set_xticks(range(3), ["one host", "mean", "and-mask"])
    axes[2].set_title("shared programs")
    for axis in axes:
        axis.axhline(0.1, color=COLOURS["reference"], linewidth=0.8)
        axis.set_ylim(0, 1)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("accuracy")
    return {"programs": figure}
