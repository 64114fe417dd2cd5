"""Abstract states coloured on the plane, with a plan from one room to the other."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.worlds.two_rooms.run import SIDE
from mechlearn_zoo.experiments.worlds.two_rooms.two_rooms import TwoRooms
from mechlearn_zoo.learners.plots import Axes, Figure, first_seed, lines_of_dots, picture

TITLES = {
    "causal": "Causal InfoGAN", "no-information": "without information", "infogan": "InfoGAN, single points",
    "contrastive": "contrastive", "k-means": "k-means",
}  # fmt: skip

PALE = ("#9ecae1", "#fdae6b", "#a1d99b", "#f4a6a6", "#bcbddc", "#d9b99b", "#f7b6d2", "#d9d9d9", "#dbdb8d", "#9edae5")
"""Colours of states, lighter than what is drawn on them."""


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's states and plans, and every seed's scores."""
    return {"states": draw_states(rows), "scores": draw_scores(rows)}


def draw_states(rows: Rows) -> Figure:
    """Draw a panel a way."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415  # a worker starts without it

    rows = first_seed(rows)
    grids = rows.where(kind="grid")
    figure, axes = panels(
        len(grids),
        caption="Each way's abstract states, one colour each, on the plane of two rooms with a wall (black) and a gap; "
        "the line is a plan from the dot on the left to the square on the right, through waypoints. A leg "
        "that meets the wall cannot be walked.",
        height=2.0,
    )
    for axis, row in zip(axes, grids, strict=True):
        name = str(row["method"])
        letters = np.frombuffer(str(row["states"]).encode(), dtype=np.uint8).reshape(SIDE, SIDE) - ord("a")
        cmap = ListedColormap([PALE[index % len(PALE)] for index in range(int(letters.max()) + 1)])
        extent, most = (-1, 1, -1, 1), max(1, letters.max())
        picture(axis, letters, TITLES[name], origin="lower", extent=extent, cmap=cmap, vmin=0, vmax=most)
        _draw_wall(axis)
        path = rows.where(kind="plan", method=name)
        if path:
            x, y = path["x"], path["y"]
            axis.plot(x, y, "-", color=COLOURS["ink"], linewidth=1)
            axis.plot(x[1:-1], y[1:-1], ".", color=COLOURS["ink"], markersize=4)
            axis.plot(x[0], y[0], "o", x[-1], y[-1], "s", color=COLOURS["ink"], markersize=5)
        axis.set(xlim=(-1, 1), ylim=(-1, 1))
    return figure


def _draw_wall(axis: Axes) -> None:
    low, high = TwoRooms().gap
    for ends in ((-1, low), (high, 1)):
        axis.plot([0, 0], ends, color="black", linewidth=2.5, solid_capstyle="butt")


def draw_scores(rows: Rows) -> Figure:
    """Draw what the states and plans are worth, a dot a seed."""
    keys = {
        "shared": "pairs across the wall\nthat share a state",
        "purity": "purity of rooms",
        "feasible": "legs that can be walked",
    }
    finals = rows.where(kind="final")
    figure, axes = panels(
        len(keys), caption="Five ways to abstract states, a dot a seed: fewer shared is better, else more.", height=3.0
    )
    names = [name for name in TITLES if finals.where(method=name)]
    for axis, (key, title) in zip(axes, keys.items(), strict=True):
        found = {TITLES[name]: (finals.where(method=name)[key], colour(place)) for place, name in enumerate(names)}
        lines_of_dots(axis, found, named=axis is axes[0])
        axis.set_title(title, fontsize=9)
        axis.set_xlim(-0.03, 1.03)
    return figure
