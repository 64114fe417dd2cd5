"""Coverage and presses, set by set."""

from claimlab import Rows, panels
from mechlearn_zoo.experiments.mazes.television.skips import SETS
from mechlearn_zoo.learners.plots import Figure, curves

_LOOKS = {
    "none": ("no bonus", "reference"), "next": ("the next frame", "baseline"), "easiest": ("the easiest ahead", "ours"),
    "any": ("any frame ahead", "fourth"),
}  # fmt: skip
_TITLES = {"off": "no television", "flickering": "pictures that pass", "staying": "pictures that stay"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both by episode."""
    return {
        "coverage": _curves(rows, "coverage", "Share of the maze that a walker visits in an episode, by what the"),
        "presses": _curves(rows, "presses", "Share of actions that press the television's button, by what the"),
    }


def _curves(rows: Rows, key: str, caption: str) -> Figure:
    caption += " forward model predicts; median and range over seeds."
    figure, axes = panels(3, 1, caption=caption, height=2.9)
    top = max(rows[key])
    for axis, kind in zip(axes, SETS, strict=True):
        curves(axis, rows.where(set=kind), "rollout", key, "model", _LOOKS)
        axis.set(title=_TITLES[kind], xlabel="roll-out, an episode of every walker", ylim=(0, 1.05 * top))
        axis.legend(fontsize=6.5)
    axes[0].set_ylabel(key)
    return figure
