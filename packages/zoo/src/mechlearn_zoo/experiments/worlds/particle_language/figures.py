"""Distance on the way, and the code; then three agents."""

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.worlds.particle_language.run import CHANNELS, REWARDED, SILENT
from mechlearn_zoo.learners.plots import Axes, Figure, columns, level

NAMES = {
    "symbols": "with symbols", "none": "without", "gaze": "gaze alone", "bodies": "bodies alone",
    "rewarded": "with rewarded symbols",
}  # fmt: skip
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
        "told to another as the pair that was held out. Right: bits that the most telling step's symbol says of "
        "the addressee, every seed; dotted, all there is to say.",
    )  # fmt: skip
    trained = [channel for channel in (*CHANNELS, REWARDED) if rows.where(kind="three", channel=channel)]
    draw_curves(left, rows.where(kind="curve of three"), tuple(trained))
    keys = {"distance": "an-\nother's", "own": "one's\nown", "held_out": "held\nout"}
    ends = rows.where(kind="three", exchanged=False)
    found = {(NAMES[one], ROLES[one]): [ends.where(channel=one)[key] for key in keys] for one in trained}
    columns(middle, list(keys.values()), found, bars=True, fontsize=7)
    middle.set_ylabel("distance")
    arms = {"symbols": "with\nsymbols", "none": "with-\nout", "untrained": "un-\ntrained"}
    arms |= {"rewarded": "re-\nwarded"} if REWARDED in trained else {}
    bits = [ends.where(channel=channel)["addressee_bits"] for channel in arms]
    columns(right, list(arms.values()), {("", "ours"): bits}, fontsize=7)
    level(right, np.log2(3))
    right.set(ylim=(0, None), ylabel="bits")
    return figure


def draw_curves(axes: Axes, rows: Rows, channels: tuple[str, ...]) -> None:
    """Draw distances on the way, a line a seed, of the channels that there are."""
    for channel in channels:
        for index, group in enumerate(rows.where(channel=channel).by("seed").values()):
            label = NAMES[channel] if index == 0 else None
            axes.plot(group["step"], group["distance"], color=COLOURS[ROLES[channel]], label=label, linewidth=1.2)
    axes.set(xlabel="step", ylabel="distance", ylim=(0, None))
    axes.legend(fontsize=7)
