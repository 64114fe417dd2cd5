"""What fresh students learn under each teacher, every seed a dot."""

import numpy as np

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, lines_of_dots

LOOKS = {
    "no-teacher": ("no teacher", "baseline"), "lone": ("teacher of one student", "reference"),
    "lone-renewed": ("... that starts anew", "reference"), "population": ("teacher of a population", "ours"),
    "and-mask": ("... by the AND-mask", "ours"),
}  # fmt: skip
PANELS = (
    ("initialisation", "selected", "new weights"),
    ("width", "selected", "new width"),
    ("initialisation", "young", "new weights, young"),
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the test accuracies of fresh students."""
    methods = [method for method in LOOKS if rows.where(method=method)]
    figure, all_axes = panels(
        len(PANELS),
        caption="Test accuracy of fresh students at the time that is best on held-out examples (right: after a few steps), "
        "mean over a seed's students: every seed a dot, the median a bar. Chance is 0.50.",
        height=1.2 + 0.32 * len(methods),
    )
    for axes, (unseen, key, title) in zip(all_axes, PANELS, strict=True):
        some = rows.where(unseen=unseen)
        found = {
            LOOKS[method][0]: (
                [float(np.mean(group[key])) for group in some.where(method=method).by("seed").values()], LOOKS[method][1],
            )
            for method in methods
        }  # fmt: skip
        lines_of_dots(axes, found, named=axes is all_axes[0])
        axes.set(title=title, xlabel="test accuracy")
    return {"fresh-students": figure}
