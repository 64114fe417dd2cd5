"""What each variant reaches, and what is left of the shortcuts' weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.conflict.needs.run import VARIANTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy and what the shortcuts' weights have left, a line of points a variant."""
    figure, (left, right) = panels(
        2, 1, caption="The AND-mask on the spirals with one thing taken away, a point a seed. Left: test accuracy. Right: norm "
        "of the first layer's weights on shortcuts, over the norm that they were drawn with.", height=3.2,
    )  # fmt: skip
    for place, method in enumerate(VARIANTS):
        found = rows.where(kind="final", method=method)
        role = "baseline" if method == "averaging" else "third" if method == "as the texts" else "ours"
        for axis, key in ((left, "accuracy"), (right, "left")):
            axis.plot(found[key], [place] * len(found), "o", color=COLOURS[role], alpha=0.7)
    left.set_yticks(range(len(VARIANTS)), tuple(VARIANTS))
    right.set_yticks(range(len(VARIANTS)), [])
    for axis in (left, right):
        axis.invert_yaxis()
    left.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
    left.set_xlim(0.4, 1.02)
    left.set_xlabel("test accuracy")
    right.set_xlabel("left of the drawn norm")
    return {"needs": figure}
