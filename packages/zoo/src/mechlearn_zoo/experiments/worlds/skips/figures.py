"""Dreams of a ball as paths, and what the models are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, number, panels
from mechlearn_zoo.experiments.worlds.skips.run import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {"skips": "skips", "fixed-1": "step 1", "fixed-2": "step 2", "fixed-3": "step 3"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's dreams, and every seed's scores."""
    return {"dreams": draw_dreams(rows), "scores": draw_scores(rows)}


def draw_dreams(rows: Rows) -> Figure:
    """Draw where the ball is, a row a board, a panel a method."""
    found = rows.where(kind="path")
    if "seed" in found[0]:
        found = found.where(seed=found[0]["seed"])
    numbers = sorted({int(str(row["board"])) for row in found})
    figure, axes = panels(
        len(METHODS),
        len(numbers),
        caption="The first three test boards. Grey: the true fall, frame by frame. Colour: where each model dreams the ball, "
        "a dot an evaluation, until the dream shows a label (square) or ends.",
        height=1.7 * len(numbers) + 0.4,
    )
    for place, axis in enumerate(axes):
        board, method = numbers[place // len(METHODS)], METHODS[place % len(METHODS)]
        true, dream = (found.where(board=board, method=name) for name in ("true", method))
        axis.plot(true["x"], true["y"], "-", color=COLOURS["reference"], linewidth=2.5, alpha=0.6)
        hue = colour(METHODS.index(method))
        axis.plot(dream["x"], dream["y"], "-", color=hue, linewidth=0.6)
        axis.plot(dream["x"], dream["y"], ".", color=hue, markersize=5)
        axis.plot(dream["x"][-1:], dream["y"][-1:], "s", color=hue, markersize=5)
        axis.invert_yaxis()
        axis.set(xticks=[], yticks=[], aspect="equal")
        axis.grid(visible=False)
        if place < len(METHODS):
            axis.set_title(TITLES[method], fontsize=9)
    for name in "xy":
        ends = [number(row, name) for row in found]
        for axis in axes:
            limits = (min(ends) - 1, max(ends) + 1)
            axis.set(**{f"{name}lim": limits if name == "x" else limits[::-1]})
    return figure


def draw_scores(rows: Rows) -> Figure:
    """Draw each method's scores, a dot a seed."""
    keys = {
        "accuracy": "label accuracy of dreams",
        "asked": "evaluations a dream",
        "entropy": "entropy of a prediction\n(nats a dimension)",
    }
    finals = rows.where(kind="final")
    figure, axes = panels(
        len(keys),
        caption="World models with skips and with fixed steps, a dot a seed; all were trained with equally many evaluations.",
        height=2.6,
    )
    for axis, (key, title) in zip(axes, keys.items(), strict=True):
        for place, method in enumerate(METHODS):
            values = finals.where(method=method)[key]
            axis.plot(values, place + np.linspace(-0.12, 0.12, len(values)), "o", color=colour(place), markersize=4)
        axis.set_yticks(range(len(METHODS)), list(TITLES.values()) if axis is axes[0] else [""] * len(METHODS))
        axis.set_title(title, fontsize=9)
        axis.invert_yaxis()
    return figure
