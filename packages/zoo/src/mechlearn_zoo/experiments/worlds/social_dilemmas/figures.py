"""What all agents of a world eat together, on the way and at the end, and what is said to each other."""

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.experiments.worlds.social_dilemmas.settings import ARMS
from mechlearn_zoo.learners.plots import Figure, columns, level

_LABELS = {"none": "the reward", "influence": "and influence", "alone": "influence alone", "surprise": "and surprise"}
_TITLES = {"harvest": "Harvest", "cleanup": "Cleanup"}
_LINES = {"random": ":", "greedy": "--", "careful": "-."}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both worlds, and influence at the end."""
    figure, axes = panels(
        3, 1, height=3.0,
        caption="Left and middle: apples that all agents of a world eat in an episode, by what their messages are paid for; "
        "medians and ranges over seeds. Grey: scripted agents at random (dotted), greedy (dashed), with care (dash-dotted). "
        "Right: influence of a message on all others' next actions at the end, each seed.",
    )  # fmt: skip
    for axis, (world, title) in zip(axes[:2], _TITLES.items(), strict=True):
        found = rows.where(kind="curve", world=world)
        steps = sorted({int(step) for step in found["step"]})
        for index, arm in enumerate(ARMS):
            curves = [[float(one) for one in group[arm]] for group in found.by("seed").values()]
            band(axis, steps, curves, _LABELS[arm], colour(index))
        for group, line in _LINES.items():
            apples = float(np.median(rows.where(kind="script", world=world, group=group)["reward"]))
            level(axis, apples, style=line)
        axis.set(title=title, xlabel="update", ylim=(0, None))
    axes[0].set_ylabel("apples of all")
    last = axes[2]
    ends = rows.where(kind="final")
    found = {
        (_LABELS[arm], colour(index)): [ends.where(world=world, arm=arm)["influence"] for world in _TITLES]
        for index, arm in enumerate(ARMS)
    }
    columns(last, list(_TITLES.values()), found)
    last.set(title="Influence", ylabel="nats a step", ylim=(0, None))
    last.legend(fontsize=6, title="paid for", title_fontsize=6)
    return {"dilemmas": figure}


def influence(rows: Rows) -> dict[str, Figure]:
    """Draw measured against true influence, every seed."""
    caption = "Influence measured by a model of others against the true one, a dot a seed and coupling; dotted, equal."
    figure, (axes,) = panels(caption=caption, width=3.6, height=3.0)
    top = max(rows["true"]) * 1.05 + 0.01
    axes.plot([0, top], [0, top], color=COLOURS["reference"], linestyle=":")
    axes.plot(rows["true"], rows["measured"], "o", color=COLOURS["ours"])
    axes.set(xlabel="true (nats)", ylabel="measured")
    return {"influence": figure}
