"""What was read from the neurons, the reconstructions beside the truth, and their scores."""

from textwrap import fill

import numpy as np

from claimlab import COLOURS, Rows, number, panels
from mechlearn_zoo.experiments.vision.decoding import pictures
from mechlearn_zoo.learners.plots import Figure, columns, first_seed


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's traces and pictures, and every seed's scores."""
    found = {"reconstructions": draw_pictures(rows), "scores": draw_scores(rows)}
    return {"neurons": draw_traces(rows), **found} if rows.where(kind="trace") else found


def draw_traces(rows: Rows) -> Figure:
    """Draw the stimulus and what was read of it on held-out time."""
    names = sorted({int(number(row, "neuron")) for row in rows.where(kind="trace")})
    figure, axes = panels(
        1, len(names), height=1.9 * len(names),
        caption="A REAL neuron (a grasshopper's auditory receptor, two recordings, bundled with nitime): the sound's envelope, "
        "grey, and what a ridge decoder reads of it from the spikes on held-out time, blue.",
    )  # fmt: skip
    for axis, neuron in zip(axes, names, strict=True):
        some = rows.where(kind="trace", neuron=neuron)
        first = first_seed(some)
        axis.plot(first["ms"], first["stimulus"], color=COLOURS["reference"], label="stimulus")
        axis.plot(first["ms"], first["read"], color=COLOURS["ours"], label="read from the spikes")
        r = np.mean(rows.where(kind="neuron", neuron=neuron, control=False)["r"])
        axis.set(title=f"recording {neuron}: r = {r:.2f} over 3 s, mean over seeds", ylabel="amplitude")
    axes[-1].set_xlabel("ms")
    axes[0].legend(fontsize=8, ncols=2, loc="upper right")
    return figure


def draw_pictures(rows: Rows) -> Figure:
    """Draw eight pictures by method, a panel a session."""
    found = first_seed(rows.where(kind="picture"))
    gains = sorted({number(row, "gain") for row in found}, reverse=True)
    figure, axes = panels(
        1, len(gains), height=3.1 * len(gains),
        caption="SIMULATED voxels. Eight test pictures of real digits, and what each way makes of their recordings: one "
        "column a picture; above the session as trained, below one whose responses are weaker. At the right, means over seeds: "
        "how often the right picture of two is identified, and the share of digits named.",
    )  # fmt: skip
    for axis, gain in zip(axes, gains, strict=True):
        some = found.where(gain=gain)
        grid = [
            np.concatenate([np.pad(one, 1, constant_values=0.5) for one in pictures.decode(str(row["pictures"]))], 1)
            for row in some
        ]
        axis.imshow(np.concatenate(grid), cmap="gray", vmin=0, vmax=1, aspect="equal")
        height, width = grid[0].shape
        axis.text(width + 3, -3, "identified\n/ named", fontsize=8)
        for place, row in enumerate(some):
            if scores := rows.where(kind="reconstruction", gain=gain, method=row["method"]):
                both = f"{np.mean(scores['pairwise']):.2f} / {np.mean(scores['recognised']):.2f}"
                axis.text(width + 3, height * (place + 0.5), both, va="center", fontsize=8)
        names = [fill(str(row["method"]), 12) for row in some]
        axis.set_yticks([height * (place + 0.5) for place in range(len(some))], names, fontsize=8)
        axis.set_xticks([])
        axis.grid(visible=False)
        axis.set_title("responses as trained" if gain == 1 else f"responses times {gain:g}")
    return figure


def draw_scores(rows: Rows) -> Figure:
    """Draw recognition and pixels' correlation by method, a dot a seed."""
    found = rows.where(kind="reconstruction", gain=1.0)
    names = list(dict.fromkeys(str(row["method"]) for row in found))
    figure, axes = panels(2, caption="SIMULATED voxels: scores of each way to reconstruct, a dot a seed.", height=2.8)
    for axis, (key, label) in zip(axes, (("recognised", "digits recognised"), ("r", "pixels' correlation")), strict=True):
        values = [found.where(method=name)[key] for name in names]
        columns(axis, [name.replace(" ", "\n") for name in names], {("", "ours"): values})
        axis.set_ylabel(label)
    return figure
