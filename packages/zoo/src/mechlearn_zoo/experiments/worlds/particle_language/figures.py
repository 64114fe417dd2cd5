"""Distance on the way, and the code; then three agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.worlds.particle_language.run import CHANNELS, REWARDED, SILENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "symbols": "with symbols",
    "none": "without",
    "gaze": "gaze alone",
    "bodies": "bodies alone",
    "rewarded": "with rewarded symbols",
}
ROLES = {"symbols": "ours", "none": "baseline", "gaze": "third", "bodies": "fourth", "rewarded": "third"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw two agents, and three where a record has them."""
    three = {"three": draw_three(rows)} if rows.where(kind="three") else {}
    return {**({"language": draw_two(rows)} if rows.where(kind="curve") else {}), **three}


def draw_two(rows: Rows) -> Figure:
    """Draw distances on the way, and the code of the first seed."""
    code = rows.where(kind="code")
    if not code:  # nobody spoke
        figure, (only,) = panels(height=2.9, caption="Distance to the goal at the end of an episode, by channel; every seed.")
        draw_curves(only, rows.where(kind="curve"), (*CHANNELS, *SILENT))
        return figure
    figure, (left, right) = panels(
        2, 1, height=2.9,
        caption="Left: distance to the goal at the end of an episode, with symbols and without, and with speech cut where "
        "agents see the other's gaze or its body alone; every seed. Right: which symbol is said last for which colour, one "
        "seed; dark is often.",
    )  # fmt: skip
    draw_curves(left, rows.where(kind="curve"), (*CHANNELS, *SILENT))
    counts, colours = np.array([int(word) for word in str(code[0]["counts"]).split()]), int(code["colours"][0])
    right.imshow(counts.reshape(colours, -1), cmap="viridis_r", aspect="auto")
    right.set(xlabel="symbol", ylabel="colour meant", yticks=range(colours))
    right.grid(visible=False)
    return figure


def draw_three(rows: Rows) -> Figure:
    """Draw distances on the way among three, by whose goal it is at the end, and what symbols say of the addressee."""
    figure, (left, middle, right) = panels(
        3, 1, height=2.9,
        caption="Three agents, each told a colour and for whom it is. Left: distance at the end of an episode, every seed. "
        "Middle: at the end of training with the likeliest symbols, by goal: told to another agent, told to oneself, and "
        "told to another as the pair that was held out; medians. Right: bits that the most telling step's symbol says of "
        "the addressee, every seed; dotted, all there is to say.",
    )  # fmt: skip
    trained = [channel for channel in (*CHANNELS, REWARDED) if rows.where(kind="three", channel=channel)]
    draw_curves(left, rows.where(kind="curve of three"), tuple(trained))
    keys, wide = {"distance": "an-\nother's", "own": "one's\nown", "held_out": "held\nout"}, 0.76 / len(trained)
    for index, channel in enumerate(trained):
        found = rows.where(kind="three", channel=channel, exchanged=False)
        values = [float(np.median(found[key])) for key in keys]
        places = np.arange(len(keys)) + wide * (index - (len(trained) - 1) / 2)
        middle.bar(places, values, wide - 0.02, color=COLOURS[ROLES[channel]])
    middle.set(xticks=range(len(keys)), ylabel="distance")
    middle.set_xticklabels(list(keys.values()), fontsize=7)
    arms = {"symbols": "with\nsymbols", "none": "with-\nout", "untrained": "un-\ntrained"}
    arms |= {"rewarded": "re-\nwarded"} if REWARDED in trained else {}
    for index, channel in enumerate(arms):
        bits = rows.where(kind="three", channel=channel, exchanged=False)["addressee_bits"]
        right.plot([index] * len(bits), bits, "o", color=COLOURS[ROLES.get(channel, "reference")], markersize=5)
    right.axhline(np.log2(3), color=COLOURS["reference"], linestyle=":")
    right.set(xticks=range(len(arms)), xlim=(-0.5, len(arms) - 0.5), ylim=(0, None), ylabel="bits")
    right.set_xticklabels(list(arms.values()), fontsize=7)
    return figure


def draw_curves(axes: Axes, rows: Rows, channels: tuple[str, ...]) -> None:
    """Draw distances on the way, a line a seed, of the channels that there are."""
    for channel in channels:
        for index, group in enumerate(rows.where(channel=channel).by("seed").values()):
            label = NAMES[channel] if index == 0 else None
            axes.plot(group["step"], group["distance"], color=COLOURS[ROLES[channel]], label=label, linewidth=1.2)
    axes.set(xlabel="step", ylabel="distance", ylim=(0, None))
    axes.legend(fontsize=7)
