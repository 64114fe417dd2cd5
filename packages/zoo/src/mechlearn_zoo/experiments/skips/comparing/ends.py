"""Pictures of a comparison: how often roll-outs end right, and what they cost, a line a method; medians with their range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from claimlab import COLOURS, Rows, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """What a method is called, and its role in `claimlab.COLOURS`."""

    label: str
    role: str


def draw_range(
    axes: Axes, x: float | int, values: Sequence[float | int], role: str, mark: str = "o", label: str | None = None
) -> None:
    """Draw the median of some seeds as a mark and their range as a line; nothing where there are none."""
    if values:
        axes.plot([x, x], [min(values), max(values)], color=COLOURS[role], linewidth=1)
        axes.plot(x, float(np.median(values)), mark, color=COLOURS[role], label=label)


def ends_and_costs(rows: Rows, looks: Mapping[str, Look], title: str, caption: str) -> tuple[Figure, Axes]:
    """Draw `accuracy` left and `rollout` right, every seed a dot and the median a bar; return the left axes, too.

    Args:
        rows: one a seed and method.
        looks: of the methods, from the top.
        title: of the left half.
        caption: of the figure.
    """
    methods = [method for method in looks if rows.where(method=method)]
    figure, (left, right) = panels(2, caption=caption, height=0.8 + 0.3 * len(methods))
    for place, method in enumerate(reversed(methods)):
        some, colour = rows.where(method=method), COLOURS[looks[method].role]
        for axes, key in ((left, "accuracy"), (right, "rollout")):
            axes.plot(some[key], [place] * len(some), "o", color=colour, markersize=5, alpha=0.7)
            axes.plot([np.median(some[key])] * 2, [place - 0.3, place + 0.3], color=colour)
    for axes, said in ((left, title), (right, "evaluations of a roll-out")):
        axes.set(title=said, yticks=range(len(methods)))
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
    left.set_yticklabels([looks[method].label for method in reversed(methods)])
    left.set_xlim(-0.02, 1.02)
    right.set_yticklabels([])
    return figure, left
