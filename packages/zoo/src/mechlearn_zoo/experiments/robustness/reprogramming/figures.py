"""Accuracies by host and state."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.robustness.reprogramming.residual import STATES as HOST_STATES
from mechlearn_zoo.experiments.robustness.reprogramming.residual import pixels
from mechlearn_zoo.experiments.robustness.reprogramming.run import STATES
from mechlearn_zoo.learners.plots import Figure, columns, first_seed, level, picture

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


def residual(rows: Rows) -> dict[str, Figure]:
    """Draw accuracies of a residual host, and what it is shown."""
    figure, axes = panels(
        3, 1, height=2.7,
        caption="Left: accuracy on digits of a residual host that reads coloured letters, and of two untrained ones; with a "
        "program (bars: mean, points: seeds) and without (black lines). Right: a digit in the programs of the trained and the "
        "untrained host, first seed.",
    )  # fmt: skip
    found = {("", colour(0)): [rows.where(state=state)["accuracy"] for state in HOST_STATES]}
    columns(axes[0], HOST_STATES, found, bars=True, fontsize=8)
    for place, state in enumerate(HOST_STATES):
        without = float(np.mean(rows.where(state=state)["without"]))
        name = "" if place else "without a program"
        axes[0].hlines(without, place - 0.4, place + 0.4, color=COLOURS["ink"], linewidth=1.2, label=name)
    level(axes[0], 0.1, "chance")
    axes[0].set(ylim=(0, 1), ylabel="accuracy on digits")
    axes[0].legend(fontsize=7, loc="upper left")
    for axis, state in zip(axes[1:], HOST_STATES, strict=False):
        row = first_seed(rows).where(state=state)[0]
        picture(axis, pixels(str(row["shown"])).numpy(), f"{state}: a {row['digit']}, host says {row['said']}")
    return {"residual": figure}
