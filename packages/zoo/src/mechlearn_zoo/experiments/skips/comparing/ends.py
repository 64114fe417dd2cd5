"""Pictures of a comparison: how often roll-outs end right, and what they cost, a line a method; medians with their range."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.learners.plots import Axes, Figure, lines_of_dots


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
    for axes, key, said in ((left, "accuracy", title), (right, "rollout", "evaluations of a roll-out")):
        found = {looks[method].label: (rows.where(method=method)[key], looks[method].role) for method in methods}
        lines_of_dots(axes, found, named=axes is left)
        axes.set_title(said)
    left.set_xlim(-0.02, 1.02)
    return figure, left
