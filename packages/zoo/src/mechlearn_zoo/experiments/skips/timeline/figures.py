"""A portion of a timeline (figures 2.7 and 2.8), truth beside prediction as an animation, and how often frames are matched."""

import json
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from claimlab import COLOURS, Animation, Rows, Scalar, band, number, panels
from mechlearn_zoo.experiments.skips.timeline import pictures
from mechlearn_zoo.experiments.skips.timeline.balls import GRID
from mechlearn_zoo.experiments.skips.timeline.filmstrip import draw_timeline
from mechlearn_zoo.experiments.skips.timeline.measures import share_matched
from mechlearn_zoo.learners.films import gif
from mechlearn_zoo.learners.plots import Axes, Figure


class Look(NamedTuple):
    """What is compared: which rows, what it is called, and its role in `claimlab.COLOURS`."""

    rows: dict[str, Scalar]
    label: str
    role: str


COMPARED = (
    Look({"method": "asi", "matching": "greedy"}, "ASI", "ours"),
    Look({"method": "fixed", "matching": "greedy"}, "fixed steps, free", "baseline"),
    Look({"method": "fixed", "matching": "fixed"}, "fixed steps, clock", "sixth"),
)

PLACEBOS = (
    ("near_random", "random frame", "reference"),
    ("near_stranger", "another board", "fifth"),
    ("near_still", "ball stays", "third"),
)

FATES = (("slow_to_ball", "at the ball", "ours"), ("slow_astray", "astray", "fourth"), ("slow_faded", "faded", "reference"))
"""What predictions that leave out slow frames show."""


def figures(rows: Rows) -> dict[str, Figure | Animation]:
    """Draw a portion of a timeline of the most accurate seed, how often frames are matched, and truth beside prediction."""
    shown = rows.where(seed=most_accurate(rows))
    found = {"timeline": draw_timeline(shown), "matches": draw_matches(rows), "truth-and-prediction": animate(shown)}
    return {**found, "balls": draw_balls(rows)} if rows.where(kind="balls") else found


def most_accurate(rows: Rows) -> int:
    """Return the seed whose roll-outs show the right label most often; the first of equals."""
    trained = rows.where(kind="trained") or rows
    return int(number(max(trained, key=lambda row: float(str(row.get("accuracy", 0.0)))), "seed"))


def animate(rows: Rows) -> Animation:
    """Animate truth beside prediction, synchronised: the prediction stands still while it skips."""
    true, predicted = pictures.recorded(rows)
    newest, right = true[0], list[pictures.Picture]()
    at = {int(number(row, "t")): picture for row, picture in predicted}
    for t in range(len(true)):
        newest = at.get(t, newest)
        right.append(newest)
    caption = (
        "The whole test episode of the timeline: the truth on the left, in a solid frame; on the right, in a dashed frame and "
        "at the same time, the latest prediction that was matched. While the model skips, the prediction stands still."
    )
    return Animation(caption, gif(pictures.side_by_side(true, right), 100, last=1000))


def draw_matches(rows: Rows) -> Figure:
    """Draw the share of slow and of fast frames that some prediction was matched with."""
    figure, (axes,) = panels(
        caption="Share of true frames that a prediction was matched with, on test episodes, a line for each seed. Slow frames: "
        "those in which the ball moves less than half as far as in its episode's median frame: it bounces and rolls.",
        height=2.6,
    )
    counts = rows.where(kind="skips")
    for row in counts:
        axes.plot([0, 1], [share_matched(row, "slow"), share_matched(row, "fast")], "o-", color=COLOURS["ours"], alpha=0.8)
    axes.set_xticks([0, 1], ["slow frames", "fast frames"])
    axes.set(xlim=(-0.5, 1.5), ylim=(0, 1), ylabel="share matched")
    return figure


def draw_balls(rows: Rows) -> Figure:
    """Draw what becomes of slow frames that are left out, and how near the predicted ball is where a bounce is skipped."""
    figure, (left, right) = panels(
        2,
        caption="Left: slow frames that predictions leave out (the first of an episode aside), by what these show: a ball "
        "within a radius of the matched frame's, a ball elsewhere, or less than half a ball; all seeds together. Right: share "
        "of predictions over a bounce with a ball within so many radii of the matched frame's: median over seeds, for what is "
        "matched as freely as ASI with their range. Dashed, placebos of ASI's predictions: the ball of a random frame of the "
        "window, of another board's prediction, and a ball that stays where the skip began.",
        height=3.6,
    )
    compared = [look for look in COMPARED if rows.where(kind="balls", at="bounces", **look.rows)]
    for place, look in enumerate(reversed(compared)):
        _draw_slow(left, place, rows.where(kind="balls", **look.rows))
    left.set(xlim=(0, 1), xlabel="share of slow frames left out")
    left.set_yticks(range(len(compared)), [look.label for look in reversed(compared)])
    left.grid(visible=False, axis="y")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.0, handlelength=1.0)
    over_bounces = rows.where(kind="balls", at="bounces")
    for look in compared:
        curves = _curves(over_bounces.where(**look.rows), "near")
        if look.rows["matching"] == "greedy":
            band(right, np.array(GRID), curves, look.label, COLOURS[look.role])
        else:
            right.plot(GRID, np.median(curves, axis=0), color=COLOURS[look.role], label=look.label)
    for key, label, role in PLACEBOS:
        curves = _curves(over_bounces.where(method="asi"), key)
        right.plot(GRID, np.median(curves, axis=0), color=COLOURS[role], label=label, linewidth=1.2, linestyle="--")
    right.axvline(1, color=COLOURS["ink"], linewidth=0.8, linestyle=":")
    right.set(xlim=(0, GRID[-1]), ylim=(0, 1), xlabel="radii", ylabel="share within")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3, fontsize=8)
    return figure


def _draw_slow(axes: Axes, place: int, some: Rows) -> None:
    start, whole = 0.0, max(1.0, sum(some["slow"]))
    for key, label, role in FATES:
        share = sum(some[key]) / whole
        axes.barh(place, share, 0.6, start, color=COLOURS[role], label=label if place == 0 else None)
        start += share


def _curves(some: Rows, key: str) -> Float[np.ndarray, "seeds grid"]:
    return np.array([json.loads(str(row[f"{key}_within"])) for row in some]).reshape(-1, len(GRID))
