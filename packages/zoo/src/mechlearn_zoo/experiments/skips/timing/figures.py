"""Off-path error and the share of right labels of every method, with random and with regular timing."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from claimlab import Rows, panels
from mechlearn_zoo.experiments.skips.comparing.ends import draw_range
from mechlearn_zoo.experiments.skips.timing.folds import Timing
from mechlearn_zoo.experiments.skips.timing.run import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = {"random": "o", "regular": "s"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw how far roll-outs lie off the true path, and how often they end right, by method and timing."""
    figure, (left, right) = panels(
        2,
        caption="Roll-outs on test trajectories: mean distance of a predicted state to the nearest true one (left, less is "
        "better) and the share that shows the right label (right), with random (circles) and with regular timing (squares). "
        "Medians over seeds, lines from the lowest to the highest seed.",
        height=3.4,
    )
    for axes, column, title in ((left, "off_path", "off-path error"), (right, "label", "right labels")):
        _draw(axes, rows, column)
        axes.set(title=title)
    right.legend()
    return {"timing": figure}


def _draw(axes: Axes, rows: Rows, column: str) -> None:
    for timing, shift in zip(get_args(Timing), (-0.12, 0.12), strict=True):
        for x, method in enumerate(METHODS):
            values = rows.where(timing=timing, method=method)[column]
            role, label = ("ours", timing) if method == "relative" else ("baseline", None)
            draw_range(axes, x + shift, values, role, _MARKS[timing], label)
    axes.set_xticks(range(len(METHODS)), METHODS, rotation=60, ha="right")
