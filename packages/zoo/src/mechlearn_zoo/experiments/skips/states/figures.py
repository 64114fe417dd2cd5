"""Where roll-outs end and how far they lie off the path, by family and world, and by method and timing."""

from typing import get_args

from claimlab import Rows, panels
from mechlearn_zoo.experiments.skips.comparing.ends import draw_range
from mechlearn_zoo.experiments.skips.states.folds import Timing
from mechlearn_zoo.experiments.skips.states.run import FAMILIES
from mechlearn_zoo.experiments.skips.states.timing import METHODS
from mechlearn_zoo.learners.plots import Figure

_MARKS = {"final": "o", "off_path": "s"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw final and off-path errors."""
    worlds = list(dict.fromkeys(str(row["world"]) for row in rows))
    figure, axes = panels(
        2,
        -(-len(worlds) // 2),
        caption="Squared errors of roll-outs on test trajectories, in variances: at the end (circles) and from each state to "
        "the nearest true one (squares; of direct prediction the end is the only one). Medians over seeds, lines from the "
        "lowest to the highest; each family has the best of fifteen trials.",
        height=2.9 * -(-len(worlds) // 2),
    )
    for one, world in zip(axes, worlds, strict=False):
        for shift, (name, mark) in zip((-0.12, 0.12), _MARKS.items(), strict=True):
            for place, family in enumerate(FAMILIES):
                values = rows.where(kind="score", world=world, family=family)[name]
                draw_range(one, place + shift, values, "ours" if family == "relative" else "baseline", mark)
        one.set(title=world, yscale="log")
        one.set_xticks(range(len(FAMILIES)), FAMILIES, rotation=60, ha="right")
    return {"states": figure}


def timing(rows: Rows) -> dict[str, Figure]:
    """Draw how far roll-outs lie off the true path, and how often they end right, by method and timing."""
    figure, (left, right) = panels(
        2,
        caption="Roll-outs on test trajectories: mean distance of a predicted state to the nearest true one (left, less is "
        "better) and the share that shows the right label (right), with random (circles) and with regular timing (squares). "
        "Medians over seeds, lines from the lowest to the highest seed.",
        height=3.4,
    )
    for axes, column, title in ((left, "off_path", "off-path error"), (right, "label", "right labels")):
        for kind, shift, mark in zip(get_args(Timing), (-0.12, 0.12), "os", strict=True):
            for place, method in enumerate(METHODS):
                role, label = ("ours", kind) if method == "relative" else ("baseline", None)
                draw_range(axes, place + shift, rows.where(timing=kind, method=method)[column], role, mark, label)
        axes.set_xticks(range(len(METHODS)), METHODS, rotation=60, ha="right")
        axes.set(title=title)
    right.legend()
    return {"timing": figure}
