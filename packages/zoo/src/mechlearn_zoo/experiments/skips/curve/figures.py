"""The rate at which error accumulates against the step length (figure 2.1)."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.skips.curve.ball_motion import STATES
from mechlearn_zoo.learners.plots import Axes, Figure

_ROLES = {"slow": "baseline", "fast": "ours"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the rate at which error accumulates against the step length (figure 2.1), for slow and for fast states."""
    figure, (left, right) = panels(
        2,
        caption="Mean error of the predicted position on test boards, divided by the time predicted: after one step (left, the "
        "axis of figure 2.1) and after as many steps as reach a fixed time ahead (right). The ball moves less (bouncing and "
        "rolling) or more (falling) than its radius in the frame at the start. Median over seeds, band from the lowest to the "
        "highest seed, cut where a roll-out that blew up would press the rest flat; circles mark the least.",
        height=3.2,
    )
    for axes, column, title in ((left, "step_rate", "after one step"), (right, "rate", "at a fixed time ahead")):
        _draw(axes, rows, column)
        axes.set(title=title, xlabel="frames in a step")
    left.set_ylabel("error a frame, world units")
    right.legend()
    return {"rate": figure}


def _draw(axes: Axes, rows: Rows, column: str) -> None:
    top = 0.0
    for state, label in STATES.items():
        skips, lines = rows.where(state=state).curves("skip", column)
        band(axes, skips, lines, label, COLOURS[_ROLES[state]])
        middle = np.median(lines, axis=0)
        least = int(middle.argmin())
        top = max(top, 1.25 * float(middle.max()))
        axes.plot(skips[least], middle[least], "o", color=COLOURS[_ROLES[state]], markersize=8, markerfacecolor="white")
    highest = max(rows[column])
    axes.set(xscale="log", ylim=(0, top if highest > 2 * top else None))
    ticks = sorted({int(skip) for skip in rows["skip"]})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
