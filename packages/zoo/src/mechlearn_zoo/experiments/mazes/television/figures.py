"""Where walkers are, method by method, how much of the maze an episode covers, and two episodes before a television."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Animation, Rows, band, colour, panels
from mechlearn_zoo.experiments.mazes.television import films
from mechlearn_zoo.experiments.mazes.television.rewards import GOALS
from mechlearn_zoo.experiments.mazes.television.run import FALLING, METHODS, PAID, WITH_TV

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "none": "no bonus", "counts": "counts (oracle)", "random": "curiosity, random", "inverse": "curiosity, inverse",
    "pixels": "curiosity, pixels", "vae": "curiosity, VAE", "reachability": "reachability",
    "continuous": "reachability, continuous",
}  # fmt: skip
SHADES = {"none": COLOURS["reference"], "continuous": COLOURS["ink"]}
"""Of the two methods that are not among the six that have a colour."""


def figures(rows: Rows) -> dict[str, Figure | Animation]:
    """Draw curves of all seeds, and maps and a film of the first one."""
    found: dict[str, Figure | Animation] = {"coverage": _coverage(rows.where(kind="curve"))}
    if maps := rows.where(kind="map"):
        found["maps"] = _maps(next(iter(maps.by("seed").values())))
    if (goals := rows.where(kind="goal", last=True)) and (pits := rows.where(kind="pits")):
        found["goals-and-pits"] = _further(goals, pits)
    if film := films.draw(rows.where(kind="film")):
        found["television"] = film
    return found


def _coverage(rows: Rows) -> Figure:
    figure, axes = panels(
        2, 1, height=3.4, caption="Share of the maze's cells that a walker visits in an episode of 150 steps, with the "
        "television off and on; median and range over seeds.",
    )  # fmt: skip
    for axis, on in zip(axes, (False, True), strict=True):
        for index, method in enumerate(METHODS):
            some = rows.where(method=method, tv=on)
            if some:
                x, lines = some.curves("rollout", "coverage")
                shade = SHADES.get(method, colour(index - 1))
                band(axis, np.asarray(x) + 1, lines, LABELS[method], shade)
        axis.set(xlabel="episodes of every walker", title=f"television {'on' if on else 'off'}", ylim=(0, None))
    axes[0].set_ylabel("coverage of an episode")
    axes[1].legend(*axes[0].get_legend_handles_labels(), loc="upper left", fontsize=6.5)  # where fewer curves are in its way
    return figure


def _maps(rows: Rows) -> Figure:
    figure, axes = panels(
        len(METHODS), 2, height=2.9, caption="Where walkers are in the last fifth of training, television off above and on "
        "below: darker is more often, on a scale of square roots; the cross is where episodes begin. First seed.",
    )  # fmt: skip
    for place, axis in enumerate(axes):
        on, method = place >= len(METHODS), METHODS[place % len(METHODS)]
        axis.set_xticks(())
        axis.set_yticks(())
        axis.grid(visible=False)
        if on and method not in WITH_TV:
            axis.axis("off")
            continue
        row = rows.where(method=method, tv=on)[0]
        free = np.array([[cell == "." for cell in line] for line in str(row["maze"]).split("/")])
        picture = np.full(free.shape, np.nan)
        picture[free] = np.sqrt([float(share) for share in str(row["shares"]).split()])
        axis.set_facecolor(COLOURS["ink"])
        axis.imshow(picture, cmap="Blues", vmin=0, vmax=0.4)
        axis.plot(*np.argwhere(free)[0][::-1], "x", color=COLOURS["baseline"], markersize=4)
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
    for index, method in enumerate(PAID):
        for x, goal in enumerate(places):
            found = [float(np.mean(group["reached"])) for group in goals.where(method=method, goal=goal).by("seed").values()]
            label = (LABELS[method] if method != "none" else "the goal's reward alone") if x == 0 else None
            left.scatter(np.full(len(found), x + 0.15 * (index - 1)), found, s=14, color=colour(index), label=label)
    left.set_xticks(range(len(places)), places)
    left.set(ylabel="share that comes there", ylim=(-0.03, 1.03))
    left.legend(fontsize=6.5)
    for index, method in enumerate(FALLING):
        x, lines = pits.where(method=method).curves("rollout", "falls")
        band(right, np.asarray(x) + 1, lines, LABELS[method] if method != "none" else "at random", colour(index))
    right.set(xlabel="episodes of every walker", ylabel="falls in 1000 steps", ylim=(0, None))
    right.legend(fontsize=6.5)
    return figure
