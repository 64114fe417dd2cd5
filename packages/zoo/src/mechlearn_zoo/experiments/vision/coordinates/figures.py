"""Maps of what is right where, and how soon."""

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.vision.coordinates.run import DIVISIONS, NETWORKS, TASKS
from mechlearn_zoo.learners.plots import Axes, Figure, columns, first_seed, picture

_TITLES = {"point": "the pixel at a position", "paint": "a square at a position", "find": "the position of a square"}
_ROLES = {"coordinates": "ours", "plain": "baseline"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw maps of the held-out places, curves on the way, and the places that the GANs paint."""
    drawn = {"places": places(rows), "training": training(rows)} if rows.where(kind="map") else {}
    return {**drawn, "gan": gan(rows)} if rows.where(kind="gan") else drawn


def places(rows: Rows) -> Figure:
    """Draw each task's score at every place, for the first seed: rows of panels are splits and networks, columns are tasks."""
    first = first_seed(rows)
    figure, axes = panels(
        4, 3, height=6.0,
        caption="Every place of a square on the canvas, by how well it is dealt with: dark is right. Boxed: the quarter that "
        "was held out (left two columns). In the right two, a fifth of the places at random was held out. One seed.",
    )  # fmt: skip
    kinds = [(division, network) for division in ("quadrant", "uniform") for network in NETWORKS]
    for row, task in enumerate(TASKS):
        for column, (division, network) in enumerate(kinds):
            axis = axes[4 * row + column]
            text = str(first.where(kind="map", task=task, division=division, network=network)[0]["scores"])
            _map(axis, np.array([int(digit) for digit in text]), worst=task == "find")
            if division == "quadrant":
                _box(axis, len(text))
            if row == 0:
                axis.set_title(f"{division}\n{'with coordinates' if network == 'coordinates' else 'without'}", fontsize=9)
            if column == 0:
                axis.set_ylabel(_TITLES[task], fontsize=8)
    return figure


def _map(axis: Axes, digits: np.ndarray, worst: bool = False) -> None:  # pyright: ignore[reportMissingTypeArgument]
    side = round(len(digits) ** 0.5)
    picture(axis, digits.reshape(side, side), cmap="viridis" if worst else "viridis_r", vmin=0, vmax=9)


def _box(axis: Axes, count: int) -> None:
    side = round(count**0.5)
    edge, end = side / 2 - 0.5, side - 0.5
    axis.plot([edge, end, end, edge, edge], [edge, edge, end, end, edge], color=COLOURS["baseline"], linewidth=1.5)


def training(rows: Rows) -> Figure:
    """Draw held-out scores against steps."""
    figure, axes = panels(3, 1, caption="Held-out scores on the way; medians over seeds.", height=2.6)
    for axis, task in zip(axes, TASKS, strict=True):
        for network in NETWORKS:
            for division, style in zip(DIVISIONS, ("-", "--"), strict=True):
                some = rows.where(kind="curve", task=task, network=network, division=division)
                steps = sorted({int(step) for step in some["step"]})
                values = [np.median(some.where(step=step)["score"]) for step in steps]
                name = "with" if network == "coordinates" else "without"
                axis.plot(steps, values, style, color=COLOURS[_ROLES[network]], label=f"{name}, {division}")
        axis.set_title(_TITLES[task], fontsize=9)
        axis.set_xlabel("step")
    axes[0].set_ylabel("share hit")
    axes[1].set_ylabel("overlap / union")
    axes[2].set_ylabel("pixels of 64 off")
    axes[0].legend(fontsize=7)
    return figure


def gan(rows: Rows) -> Figure:
    """Draw the places that the GANs' pictures have squares at, for the first seed, and the share over seeds."""
    figure, axes = panels(
        3, 1, height=2.6,
        caption="Places at which 2000 pictures of a GAN have a square (dark), one seed; right, their share, every seed.",
    )  # fmt: skip
    first = first_seed(rows)
    for axis, network in zip(axes, NETWORKS, strict=False):
        text = str(first.where(kind="gan", network=network)[0]["places"])
        _map(axis, 9 * np.array([int(digit) for digit in text]))
        axis.set_title("with coordinates" if network == "coordinates" else "without", fontsize=9)
    covered = {("", "ours"): [rows.where(kind="gan", network=network)["covered"] for network in NETWORKS]}
    columns(axes[2], ["with", "without"], covered)
    axes[2].set(ylim=(0, 1), title="share of places")
    return figure
