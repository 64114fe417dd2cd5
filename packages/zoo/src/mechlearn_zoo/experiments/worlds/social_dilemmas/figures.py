"""What all agents of a world eat together, on the way and at the end, and what is said to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.experiments.worlds.social_dilemmas.settings import ARMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {
    "none": "the reward",
    "influence": "and influence",
    "alone": "influence alone",
    "surprise": "and surprise",
}
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
            level = float(np.median(rows.where(kind="script", world=world, group=group)["reward"]))
            axis.axhline(level, color=COLOURS["reference"], linestyle=line, linewidth=1.0)
        axis.set(title=title, xlabel="update", ylim=(0, None))
    axes[0].set_ylabel("apples of all")
    last = axes[2]
    for index, arm in enumerate(ARMS):
        for place, world in enumerate(_TITLES):
            values = [float(one) for one in rows.where(kind="final", world=world, arm=arm)["influence"]]
            x = np.full(len(values), place + 0.18 * (index - 1.5))
            last.plot(x, values, "o", color=colour(index), markersize=3.5, label=None if place else _LABELS[arm])
    last.set(title="Influence", ylabel="nats a step", xticks=[0, 1], xticklabels=list(_TITLES.values()), ylim=(0, None))
    last.legend(fontsize=6, title="paid for", title_fontsize=6)
    return {"dilemmas": figure}
