"""How often both balls end right, and how far a prediction skips, as parts and as one frame."""

from typing import get_args

from claimlab import Rows, panels
from mechlearn_zoo.experiments.skips.comparing.ends import draw_range
from mechlearn_zoo.experiments.skips.parts.two_balls import World
from mechlearn_zoo.learners.plots import Axes, Figure

_LABELS = {"parts": "parts", "whole": "whole frames", "fixed-6": "fixed, Δt = 6"}
_MARKS = {"two": "o", "twins": "s"}
_WORLDS = {"two": "two balls", "twins": "twins"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy and mean skips by method and world."""
    figure, (left, right) = panels(
        2,
        caption="Roll-outs on test boards: the share in which both balls land where they should (left), and how many frames a "
        "prediction skips at the end of training (right), with two balls (circles) and with the same ball twice (squares). "
        "Medians over seeds, lines from the lowest to the highest seed.",
        height=3.2,
    )
    for axes, column, title in ((left, "accuracy", "both right"), (right, "skip", "mean skip, frames")):
        _draw(axes, rows, column)
        axes.set(title=title)
    left.set(ylim=(-0.02, 1.02))
    right.legend()
    return {"parts": figure}


def _draw(axes: Axes, rows: Rows, column: str) -> None:
    for world, shift in zip(get_args(World), (-0.12, 0.12), strict=True):
        for x, method in enumerate(_LABELS):
            values = rows.where(world=world, method=method)[column]
            role, label = ("ours", _WORLDS[world]) if method == "parts" else ("baseline", None)
            draw_range(axes, x + shift, values, role, _MARKS[world], label)
    axes.set_xticks(range(len(_LABELS)), list(_LABELS.values()), rotation=30, ha="right")
