"""Where walkers are, method by method, how much of the maze an episode covers, and two episodes before a television."""

from collections.abc import Mapping, Sequence

import numpy as np

from claimlab import COLOURS, Animation, Row, Rows, colour, panels
from mechlearn_zoo.experiments.mazes.television import films
from mechlearn_zoo.experiments.mazes.television.rewards import GOALS
from mechlearn_zoo.experiments.mazes.television.run import FALLING, METHODS, PAID, WITH_TV
from mechlearn_zoo.learners.plots import Axes, Figure, Look, columns, curves, first_seed, legend_below, picture

LOOKS = {
    "none": ("no bonus", "reference"), "counts": ("counts (oracle)", "ours"), "random": ("curiosity, random", "baseline"),
    "inverse": ("curiosity, inverse", "third"), "pixels": ("curiosity, pixels", "fourth"), "vae": ("curiosity, VAE", "fifth"),
    "reachability": ("reachability", "sixth"), "continuous": ("reachability, continuous", "ink"),
}  # fmt: skip
_FIVE = ("none", "random", "reachability", "counts", "continuous")
LABELS = {method: label for method, (label, _) in LOOKS.items()}


def figures(rows: Rows) -> dict[str, Figure | Animation]:
    """Draw curves of all seeds, and maps and a film of the first one."""
    found: dict[str, Figure | Animation] = {}
    if maps := rows.where(kind="map"):
        found["trapped"] = _trapped(first_seed(maps), rows.where(kind="curve"))
    found["coverage"] = _coverage(rows.where(kind="curve"))
    if maps:
        found["maps"] = _maps(first_seed(maps))
    if (goals := rows.where(kind="goal", last=True)) and (pits := rows.where(kind="pits")):
        found["goals-and-pits"] = _further(goals, pits)
    if film := films.draw(rows.where(kind="film")):
        found["television"] = film
    return found


def _trapped(maps: Rows, rows: Rows) -> Figure:
    figure, axes = panels(
        4, 2, height=4.9, caption="Above: where walkers are with a noisy television on, first seed; darker is more often, "
        "the cross is where episodes begin. Below: share of the maze visited in an episode; median and range over seeds.",
    )  # fmt: skip
    for axis, method in zip(axes[:4], _FIVE, strict=False):
        picture(axis, title=LABELS[method])
        _map(axis, maps.where(method=method, tv=True)[0])
    axes[0].set_ylabel("television on")
    for axis in axes[4:]:
        axis.remove()
    below = [figure.add_subplot(2, 4, place) for place in ((5, 6), (7, 8))]
    _lines(below, rows, {method: LOOKS[method] for method in _FIVE})
    legend_below(figure, below[0], 3)
    return figure


def _coverage(rows: Rows) -> Figure:
    figure, axes = panels(
        2, 1, height=3.9, caption="Share of the maze's cells that a walker visits in an episode of 150 steps, with the "
        "television off and on; median and range over seeds.",
    )  # fmt: skip
    _lines(axes, rows, LOOKS)
    legend_below(figure, axes[0], 4)
    return figure


def _lines(axes: Sequence[Axes], rows: Rows, looks: Mapping[str, Look]) -> None:
    for axis, on in zip(axes, (False, True), strict=True):
        curves(axis, rows.where(tv=on), "rollout", "coverage", "method", looks)
        axis.set(xlabel="roll-out, an episode of every walker", title=f"television {'on' if on else 'off'}", ylim=(0, None))
    axes[0].set_ylabel("coverage of an episode")


def _map(axis: Axes, row: Row) -> None:
    free = np.array([[cell == "." for cell in line] for line in str(row["maze"]).split("/")])
    pixels = np.full(free.shape, np.nan)
    pixels[free] = np.sqrt([float(share) for share in str(row["shares"]).split()])
    axis.set_facecolor(COLOURS["ink"])
    axis.imshow(pixels, cmap="Blues", vmin=0, vmax=0.4)
    axis.plot(*np.argwhere(free)[0][::-1], "x", color=COLOURS["baseline"], markersize=4)


def _maps(rows: Rows) -> Figure:
    figure, axes = panels(
        len(METHODS), 2, height=2.9, caption="Where walkers are in the last fifth of training, television off above and on "
        "below: darker is more often, on a scale of square roots; the cross is where episodes begin. First seed.",
    )  # fmt: skip
    for place, axis in enumerate(axes):
        on, method = place >= len(METHODS), METHODS[place % len(METHODS)]
        picture(axis)
        if on and method not in WITH_TV:
            axis.axis("off")
            continue
        _map(axis, rows.where(method=method, tv=on)[0])
        if not on:
            axis.set_title(LABELS[method].replace(", ", ",\n"), fontsize=6.5, pad=3)
    return figure


def _further(goals: Rows, pits: Rows) -> Figure:
    figure, (left, right) = panels(
        2, 1, height=3.0, caption="Left: share of walkers that come to a goal which pays 1, by how far it is, last fifth of "
        "training; a dot a seed. Right: falls in 1000 steps where pits lie beside the ways; nobody is told "
        "of an end. Median and range over seeds.",
    )  # fmt: skip
    places = list(GOALS)
    reached = {
        (LABELS[method] if method != "none" else "the goal's reward alone", colour(index)): [
            [float(np.mean(group["reached"])) for group in goals.where(method=method, goal=goal).by("seed").values()]
            for goal in places
        ]
        for index, method in enumerate(PAID)
    }
    columns(left, places, reached)
    left.set(ylabel="share that comes there", ylim=(-0.03, 1.03))
    left.legend(fontsize=6.5)
    falling = {one: (LABELS[one] if one != "none" else "at random", colour(index)) for index, one in enumerate(FALLING)}
    curves(right, pits, "rollout", "falls", "method", falling)
    right.set(xlabel="roll-out, an episode of every walker", ylabel="falls in 1000 steps", ylim=(0, None))
    right.legend(fontsize=6.5)
    return figure
