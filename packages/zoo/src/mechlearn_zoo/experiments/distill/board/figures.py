"""Accuracy on boards of known styles and of an unseen one."""

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, lines_of_dots

_METHODS = {
    "asi": ("ASI", "sixth"), "asi-and-mask": ("ASI, AND-mask", "fifth"), "ldt": ("LDT", "ours"),
    "ldt-asi": ("LDT, ASI's frames", "fourth"), "ldt-placebo": ("LDT, other falls", "third"),
    "no-teacher": ("no teacher", "baseline"), "frequent": ("most frequent", "reference"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracies, a line of points a method."""
    names = [name for name in _METHODS if rows.where(method=name)]
    figure, axes = panels(
        2,
        caption="How often the platform is right on which the ball lands, a point a seed, a bar at the median. Left: new "
        "boards of the two styles that were trained on. Right: boards of a livelier style.",
        height=3.2,
    )
    for axis, key, title in zip(axes, ("accuracy", "unseen"), ("known styles", "unseen style"), strict=True):
        found = {_METHODS[name][0]: (rows.where(method=name)[key], _METHODS[name][1]) for name in names}
        lines_of_dots(axis, found, named=key == "accuracy")
        axis.set(title=title, xlabel="accuracy", xlim=(0, 1.02))
    return {"accuracy": figure}
