"""Test accuracy by variant, and what is left of the shortcuts' weights with one thing taken away."""

from claimlab import Rows, panels
from mechlearn_zoo.experiments.spirals.sensitivity import needs
from mechlearn_zoo.experiments.spirals.sensitivity.run import NAMES
from mechlearn_zoo.learners.plots import Figure, level, lines_of_dots


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each variant's test accuracies, red where the run had not converged."""
    names = [name for name in NAMES if rows.where(variant=name)]
    figure, (axes,) = panels(
        caption="Test accuracy by variant, one dot a seed, the median as a bar; red: training had not converged.",
        height=0.6 + 0.32 * len(names),
    )
    converged = rows.where(converged=True)
    lines_of_dots(axes, {name: (rows.where(variant=name)["test_accuracy"], "baseline") for name in names})
    lines_of_dots(axes, {name: (converged.where(variant=name)["test_accuracy"], "ours") for name in names}, bar=False)
    level(axes, 0.5, upright=True)
    axes.set(xlabel="test accuracy", xlim=(0.4, 1.03), ylim=(-0.5, len(names) - 0.5))
    return {"variants": figure}


def of_needs(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy and what the shortcuts' weights have left, a line of points a variant."""
    figure, (left, right) = panels(
        2, 1, caption="The AND-mask on the spirals with one thing taken away, a point a seed. Left: test accuracy. Right: norm "
        "of the first layer's weights on shortcuts, over the norm that they were drawn with.", height=3.2,
    )  # fmt: skip
    roles, ends = {"averaging": "baseline", "as the texts": "third"}, rows.where(kind="final")
    for axis, key in ((left, "accuracy"), (right, "left")):
        found = {one: (ends.where(method=one)[key], roles.get(one, "ours")) for one in needs.VARIANTS}
        lines_of_dots(axis, found, named=axis is left)
    level(left, 0.5, upright=True)
    left.set(xlabel="test accuracy", xlim=(0.4, 1.02))
    right.set_xlabel("left of the drawn norm")
    return {"needs": figure}
