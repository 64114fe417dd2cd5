"""Accuracy on wrong labels and on the test set while training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.conflict.examples.run import BOARDS, METHODS
from mechlearn_zoo.tasks.pictures.digits import CLASSES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each method's curves, medians over seeds."""
    figure, (fitted, test, random) = panels(
        3, 1, caption="Every example an environment; median over seeds. Left: share of the wrongly labelled digits whose wrong "
        "label the network gives. Middle: accuracy on test digits, of the same runs. Right: share of random labels given. "
        "Dotted: chance.", height=3.0,
    )  # fmt: skip
    for index, method in enumerate(METHODS):
        look = COLOURS["baseline"] if method == "averaging" else colour(index if index > 1 else 0)  # 1 is averaging's
        for axis, board, key in (
            (fitted, "wrong labels", "fitted"),
            (test, "wrong labels", "test_accuracy"),
            (random, "random labels", "fitted"),
        ):
            if method in BOARDS[board]:
                epochs, lines = rows.where(board=board, method=method).curves("epoch", key)
                middle = [sorted(values)[(len(values) - 1) // 2] for values in zip(*lines, strict=True)]
                axis.plot(epochs, middle, color=look, label=method)
    for axis, title in ((fitted, "wrong labels fitted"), (test, "test accuracy"), (random, "random labels fitted")):
        axis.set(title=title, xlabel="epoch", ylim=(0, 1.03))
    test.set_ylim(0.5, 1.0)
    for axis in (fitted, random):
        axis.axhline(1 / CLASSES, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
    fitted.legend(fontsize=6.5)
    return {"examples": figure}
