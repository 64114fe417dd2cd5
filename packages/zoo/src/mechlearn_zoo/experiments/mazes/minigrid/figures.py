"""Goals reached and cells seen by environment steps."""

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, curves

_LOOKS = {
    "none": ("no bonus", "reference"), "counts": ("counts (oracle)", "ours"), "random": ("curiosity, random", "baseline"),
    "inverse": ("curiosity, inverse", "third"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both for every method."""
    figure, (goals, cells) = panels(
        2, 1, height=3.0, caption="MiniGrid's rooms with a bonus alone: episodes that reach the goal, which no learner is paid "
        "for, and cells that are new in an episode; median and range over seeds.",
    )  # fmt: skip
    for axis, key, label in ((goals, "reached", "share of episodes at the goal"), (cells, "new", "new cells per episode")):
        curves(axis, rows, "budget", key, "method", _LOOKS)
        axis.set(xlabel="environment steps", ylabel=label, ylim=(0, None))
    goals.legend(fontsize=7)
    return {"rooms": figure}
