"""What trained teachers use: frames by layer in the Game of Life, frames over time on a body."""

import numpy as np

from claimlab import COLOURS, Rows, band, number, panels
from mechlearn_zoo.experiments.distill.reading.measures import noise_of
from mechlearn_zoo.learners.plots import Axes, Figure, table


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the shares of frames."""
    found: dict[str, Figure] = {}
    if rows.where(world="life"):
        found["life"] = draw_life(rows)
    if rows.where(world="body"):
        found["body"] = draw_body(rows)
    return found


def draw_life(rows: Rows) -> Figure:
    """Draw each seed's shares of the three boards for the three layers."""
    readings = list(rows.where(world="life", teacher="trained").by("seed").values())
    figure, all_axes = panels(
        len(readings),
        caption="What a trained teacher of the Game of Life uses, a panel a seed: share of each board (columns, in order of "
        "time) in the targets of each supervised layer (rows). The oracle uses the diagonal. Above: the student's accuracy.",
        height=2.4,
    )
    for axes, reading in zip(all_axes, readings, strict=True):
        shares = np.zeros((3, 3))
        for row in reading:
            shares[int(number(row, "layer")), int(number(row, "frame"))] = number(row, "share")
        table(axes, shares, (1, 2, 3), (1, 2, 3), "Greys", (0, 1))
        axes.set_title(f"{number(reading[0], 'accuracy'):.2f}")
    all_axes[0].set(xlabel="board", ylabel="layer")
    return figure


def draw_body(rows: Rows) -> Figure:
    """Draw the shares over time before and after training, with true frames and with noise at the end."""
    noise = noise_of(rows)
    kinds = [("plain", "true frames")] + ([] if noise is None else [(noise[0], f"last {noise[1]} frames noise")])
    figure, all_axes = panels(
        len(kinds),
        caption="What a teacher of a simulated body uses: share of each frame in the targets of all layers, weighted by gates; "
        "median over seeds with the range.",
    )
    for axes, (data, title) in zip(all_axes, kinds, strict=True):
        for teacher, role in (("untrained", "baseline"), ("trained", "ours")):
            _draw_time(axes, rows.where(world="body", data=data, teacher=teacher), teacher, COLOURS[role])
        axes.set(title=title, xlabel="frame", ylabel="share of what is used", ylim=(0, None), xticks=(1, 4, 8, 12, 16))
    all_axes[0].legend()
    return figure


def _draw_time(axes: Axes, rows: Rows, label: str, colour: str) -> None:
    if not rows:
        return
    frames = sorted({int(number(row, "frame")) for row in rows})
    curves = [
        [sum(number(row, "of_all") for row in group.where(frame=frame)) for frame in frames]
        for group in rows.by("seed").values()
    ]
    band(axes, [frame + 1 for frame in frames], curves, label, colour)
