"""Test errors on the three examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.conflict.units.run import COMPARED
from mechlearn_zoo.tasks.boards.unit_tests import EXAMPLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's error, a line of points a method; filled with three environments, hollow with eight."""
    figure, axes = panels(
        len(EXAMPLES), 1, caption="Test error on the linear unit tests, spurious inputs shuffled; a point a seed, filled with "
        "three environments and hollow with eight.", height=3.2,
    )  # fmt: skip
    for axis, example in zip(axes, EXAMPLES, strict=True):
        for place, method in enumerate(COMPARED):
            for environments, filled in ((3, True), (8, False)):
                found = rows.where(kind="final", example=example, environments=environments, method=method)["test_error"]
                offset = 0.12 if filled else -0.12
                face = COLOURS["ours"] if filled else "none"
                places = np.full(len(found), place + offset)
                axis.plot(found, places, "o", color=COLOURS["ours"], markerfacecolor=face, alpha=0.7)
        axis.set_yticks(range(len(COMPARED)), COMPARED if example == EXAMPLES[0] else [])
        axis.set_title(example)
        if example == "regression":
            axis.set_xscale("log")
            axis.set_xticks([10, 30, 100], ["10", "30", "100"])
            axis.set_xticks([], minor=True)
    return {"errors": figure}
