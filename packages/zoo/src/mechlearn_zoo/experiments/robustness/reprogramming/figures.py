"""Accuracies by host and state."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.robustness.reprogramming.run import STATES
from mechlearn_zoo.learners.plots import Figure, columns, level

HOSTS = ("cnn", "mlp", "linear")


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both tasks."""
    figure, axes = panels(
        2, caption="Accuracy of programs, bars: mean over seeds, points: seeds; black lines: mean without a program; grey "
        "lines: chance. Hosts trained on letters, random, and random with logits of the trained one's spread.", height=2.9,
    )  # fmt: skip
    for axis, task in zip(axes, ("digits", "squares"), strict=True):
        some = rows.where(kind="host", task=task)
        found = {
            (state, colour(index)): [some.where(host=host, state=state)["accuracy"] for host in HOSTS]
            for index, state in enumerate(STATES)
        }
        columns(axis, HOSTS, found, bars=True)
        wide = 0.8 / len(STATES)
        for place, host in enumerate(HOSTS):
            for index, state in enumerate(STATES):
                at, without = place + wide * (index - 1), np.mean(some.where(host=host, state=state)["without"])
                name = "" if place or index else "without a program"
                axis.hlines(float(without), at - wide / 2, at + wide / 2, color=COLOURS["ink"], linewidth=1.2, label=name)
        axis.set_title(task)
    for axis in axes:
        level(axis, 0.1)
        axis.set_ylim(0, 1)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("accuracy")
    return {"programs": figure}
