"""Accuracy on the wrong labels and on the test set while training (figure 3.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.agreement.label_noise.claims import selected
from mechlearn_zoo.tasks.pictures.digits import CLASSES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = (("mean", "averaging", "baseline"), ("and-mask", "AND-mask", "ours"), ("geometric", "geometric mean", "third"))


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy on the wrong labels and on the test set while training (figure 3.9)."""
    figure, (left, right) = panels(
        2,
        caption="Left: share of the wrongly labelled training images whose wrong label the network gives. Dotted: chance. "
        f"Right: accuracy on test images with their own labels. Median over seeds with their range. Data: {rows[0]['data']}.",
        height=2.9,
    )
    for method, name, role in _METHODS:
        some = selected(rows, method)
        if not some:
            continue
        mask = "" if method == "mean" else f" {some[0]['threshold']:g}"
        label = f"{name}{mask}, lr {some[0]['learning_rate']:g}"
        for axes, key in ((left, "fitted_wrong"), (right, "test_accuracy")):
            band(axes, *some.curves("epoch", key), label, COLOURS[role])
    left.axhline(1 / CLASSES, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
    left.set(title="Wrong labels fitted", xlabel="epoch", ylim=(0, 1.03))
    right.set(title="Test accuracy", xlabel="epoch", ylim=(0.5, 1.01))
    right.legend(loc="lower right")
    return {"label-noise": figure}
