"""Accuracy while training (figure 3.9), what the mask adds where both are stopped early, and single examples' pulls bounded."""

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.experiments.agreement.label_noise.conflict_examples import BOARDS, METHODS
from mechlearn_zoo.experiments.agreement.label_noise.early_stopping_measures import Judge, added
from mechlearn_zoo.experiments.agreement.label_noise.measures import selected
from mechlearn_zoo.learners.plots import Figure, columns, legend_below, level
from mechlearn_zoo.tasks.pictures.digits import CLASSES

_METHODS = (("mean", "averaging", "baseline"), ("and-mask", "AND-mask", "ours"), ("geometric", "geometric mean", "third"))

_WAYS: tuple[tuple[str, Judge, bool, str], ...] = (
    ("by true labels", "clean", False, "ours"),
    ("by labels as wrong as training's", "noisy", False, "third"),
    ("at the end", "noisy", True, "baseline"),
)


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
    level(left, 1 / CLASSES)
    left.set(title="Wrong labels fitted", xlabel="epoch", ylim=(0, 1.03))
    right.set(title="Test accuracy", xlabel="epoch", ylim=(0.5, 1.01))
    right.legend(loc="lower right")
    return {"label-noise": figure}


def early_stopping(rows: Rows) -> dict[str, Figure]:
    """Draw what the mask adds to averaging that is stopped alike, cell by cell: a panel for each number of images."""
    found = {name: added(rows, judge, end) for name, judge, end, _ in _WAYS}
    sizes = sorted({images for images, _ in next(iter(found.values()))})
    figure, grid = panels(
        len(sizes),
        caption="Test accuracy of the AND-mask less averaging's, each with the trial and the epoch that its validation images "
        "select; a dot for each seed, a bar at their mean. Above the line the mask adds something.",
        height=3.2,
    )
    for axes, images in zip(grid, sizes, strict=True):
        noises = sorted({noise for size, noise in next(iter(found.values())) if size == images})
        gains = {(name, role): [list(found[name][images, one].values()) for one in noises] for name, _, _, role in _WAYS}
        columns(axes, [f"{noise:g}" for noise in noises], gains, bars=True)
        level(axes, 0)
        axes.set(title=f"{images} images", xlabel="share of labels redrawn")
    grid[0].set(ylabel="AND-mask less averaging")
    legend_below(figure, grid[0], 3)
    return {"early-stopping": figure}


def conflict_examples(rows: Rows) -> dict[str, Figure]:
    """Draw the curves of each way to combine the gradients of single examples, medians over seeds."""
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
        level(axis, 1 / CLASSES)
    fitted.legend(fontsize=6.5)
    return {"examples": figure}
