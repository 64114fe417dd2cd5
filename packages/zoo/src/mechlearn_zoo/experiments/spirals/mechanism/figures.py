"""Learning curves, the decision boundaries on the spiral plane, and every seed's outcome."""

import math
from collections.abc import Sequence

import numpy as np

from claimlab import COLOURS, Row, Rows, number, panels
from mechlearn_zoo.experiments.spirals.mechanism.run import BOUNDARY_EXTENT
from mechlearn_zoo.learners.plots import Axes, Figure, curves, level
from mechlearn_zoo.learners.spirals.methods import LABELS, ROLES, Method
from mechlearn_zoo.learners.spirals.training import CONVERGED
from mechlearn_zoo.tasks.boards.spirals import HeldOut, Shortcuts, spirals


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw learning curves, the decision boundaries on the spiral plane, and every seed's outcome."""
    return {
        "learning-curves": learning_curves(rows),
        "decision-boundary": decision_boundaries(rows, BOUNDARY_EXTENT),
        "outcomes": outcomes(rows, CONVERGED),
    }


def learning_curves(rows: Rows) -> Figure:
    """Draw training accuracy and accuracy on held-out environments over steps (after figure B.5)."""
    figure, (left, right) = panels(
        2,
        caption="Accuracy while training, on the training environments and on held-out ones: median over seeds, "
        "with the band from the lowest to the highest seed.",
        height=2.9,
    )
    for axes, key, title in ((left, "train_accuracy", "Training"), (right, "validation_accuracy", "Held-out environments")):
        looks = {method: (LABELS[method], ROLES[method]) for method in _methods(rows)}
        curves(axes, rows.where(kind="curve"), "step", key, "method", looks)
        level(axes, 0.5)
        axes.set(title=title, xlabel="step", ylabel="accuracy", ylim=(0.4, 1.03))
    right.legend(loc="center right")
    return figure


def decision_boundaries(rows: Rows, extent: float) -> Figure:
    """Draw the probability of label 1 over the spiral plane for each method, for the median seed, with the spirals on top."""
    methods = _methods(rows)
    seed = _median_seed(rows.where(kind="final", method=methods[-1]))
    figure, all_axes = panels(
        len(methods),
        caption=f"The spiral plane as each network sees it (seed {seed}, the median by test accuracy): probability of the "
        "second label, averaged over random shortcuts. Dots are the mechanism, coloured by label; what a network has learnt "
        "of shortcuts is noise here.",
        height=3.6,
    )
    for axes, method in zip(all_axes, methods, strict=True):
        grid = str(rows.where(kind="boundary", method=method, seed=seed)[0]["grid"])
        _draw_plane(axes, grid, extent)
        axes.set(title=LABELS[method], xlabel="spiral plane, x", aspect="equal")
    all_axes[0].set_ylabel("spiral plane, y")
    return figure


def _median_seed(outcomes: Sequence[Row]) -> int:
    ordered = sorted(outcomes, key=lambda row: number(row, "test_accuracy"))
    return int(number(ordered[len(ordered) // 2], "seed"))


def _draw_plane(axes: Axes, grid: str, half: float) -> None:
    probability = (np.array([int(digit) for digit in grid]) + 0.5) / 10
    side = math.isqrt(len(grid))
    image = probability.reshape(side, side).T
    axes.imshow(
        image, extent=(-half, half, -half, half), origin="lower", cmap="RdBu", vmin=0, vmax=1, alpha=0.75, interpolation="none",
    )  # fmt: skip
    sample = spirals(0, 1, 300, Shortcuts(dims=0), held_out=HeldOut(1, test_examples=1)).train
    for label, colour in ((0, "#8c1d2f"), (1, "#123f66")):
        points = sample.x[sample.y == label].numpy()
        axes.plot(points[:, 0], points[:, 1], ".", color=colour, markersize=3)
    axes.grid(visible=False)


def outcomes(rows: Rows, loss_of_converged: float) -> Figure:
    """Draw every seed's test accuracy against its final training loss: a run that fails says so in the training loss."""
    figure, (axes,) = panels(
        caption=f"Every seed: test accuracy against final training loss. Hollow: training loss above {loss_of_converged}, not "
        "converged. Low loss at chance level is a network that learnt the shortcuts.",
        height=2.8,
    )
    for method in _methods(rows):
        for converged in (True, False):
            some = rows.where(kind="final", method=method, converged=converged)
            colour = COLOURS[ROLES[method]]
            label = LABELS[method] if converged or not rows.where(kind="final", method=method, converged=True) else None
            loss, face = [max(loss, 1e-6) for loss in some["train_loss"]], colour if converged else "white"
            axes.plot(
                loss, some["test_accuracy"], "o", color=colour, markerfacecolor=face, label=label if some else None,
            )  # fmt: skip
    level(axes, 0.5)
    axes.set(xscale="log", xlabel="training loss at the end", ylabel="test accuracy", ylim=(0.4, 1.03))
    axes.legend(loc="center left")
    return figure


def _methods(rows: Rows) -> list[Method]:
    return [method for method in LABELS if rows.where(kind="final", method=method)]
