"""Test errors of every method on every example, scrambled or not; a point a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.own_data.linear_units.run import CELLS
from mechlearn_zoo.experiments.own_data.linear_units.training import METHODS
from mechlearn_zoo.experiments.own_data.linear_units.unit_tests import EXAMPLES
from mechlearn_zoo.experiments.own_data.linear_units.units import COMPARED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTION = (
    "Test error of the trial that the training environments' validation data choose, spurious inputs shuffled; a point a seed, "
    "filled with three environments and hollow with eight. Above the examples as they are, below with rotated inputs."
)
UNITS = (
    "Test error on the linear unit tests, spurious inputs shuffled; a point a seed, filled with three environments and hollow "
    "with eight."
)
OTHERS = ("ERM", "geometric mean", "IRM", "IGA", "V-REx", "Fishr", "oracle", "mean", "mean, own units")


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's error, a line of points a method."""
    figure, axes = panels(len(CELLS) // 2, 2, caption=CAPTION, height=6.4)
    order = sorted(range(len(CELLS)), key=lambda place: CELLS[place][1])
    for axis, (example, turned) in zip(axes, (CELLS[place] for place in order), strict=True):
        _points(axis, rows.where(scrambled=turned), example, list(reversed(METHODS)), "within")
        if turned:
            axis.set_title(f"{example}, scrambled", fontsize=8)
    return {"errors": figure}


def units(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's error at one setting, a line of points a method."""
    figure, axes = panels(len(EXAMPLES), 1, caption=UNITS, height=3.2)
    for axis, example in zip(axes, EXAMPLES, strict=True):
        _points(axis, rows, example, COMPARED, "test_error")
    return {"errors": figure}


def _points(axis: Axes, rows: Rows, example: str, methods: Sequence[str], column: str) -> None:
    for place, method in enumerate(methods):
        colour = COLOURS["sixth" if method in OTHERS else "ours"]
        for environments, offset in ((3, 0.15), (8, -0.15)):
            found = rows.where(kind="final", example=example, environments=environments, method=method)[column]
            face = colour if environments == 3 else "none"
            places = np.full(len(found), place + offset)
            axis.plot(found, places, "o", color=colour, markerfacecolor=face, markersize=4, alpha=0.7)
    axis.set_yticks(range(len(methods)), methods if example == "regression" else [], fontsize=7)
    axis.set_title(example, fontsize=8)
    if example == "regression":
        axis.set_xscale("log")
        axis.set_xlabel("mean squared error", fontsize=8)
        axis.set_xticks([10, 30, 100], ["10", "30", "100"])
        axis.set_xticks([], minor=True)
    else:
        axis.set_xlim(-0.03, 0.63)
        axis.set_xlabel("share of wrong labels", fontsize=8)
