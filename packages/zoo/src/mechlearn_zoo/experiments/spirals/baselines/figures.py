"""Training and test accuracy of every method's trials (figure 3.6), and the trials of the search."""

import numpy as np

from claimlab import COLOURS, Rows, number, panels
from mechlearn_zoo.experiments.spirals.baselines.measures import data_sets, selected
from mechlearn_zoo.experiments.spirals.baselines.search import DRAWN
from mechlearn_zoo.learners.plots import Figure, level


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw training and test accuracy of every trial, with the selected ones filled (figure 3.6)."""
    methods = list(dict.fromkeys(str(row["method"]) for row in rows))
    figure, all_axes = panels(
        2,
        caption="Every trial's accuracy, training on the left and test on the right; filled: of those that fit their training "
        "data the trial that is best on held-out environments, of each data set. Dotted: chance.",
        height=2.9,
    )
    for axes, key, title in zip(all_axes, ("train_accuracy", "test_accuracy"), ("Training", "Test"), strict=True):
        for index, method in enumerate(methods):
            colour = COLOURS["ours" if method == "and-mask" else "baseline"]
            some = rows.where(method=method, outcome="finished")
            axes.plot([index] * len(some), some[key], "o", color=colour, markerfacecolor="none")
            found = [selected(group, method) for group in data_sets(rows)]
            best = [number(row, key) for row in found if row is not None]
            axes.plot([index] * len(best), best, "o", color=colour)
        level(axes, 0.5)
        axes.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
        axes.set(title=title, ylim=(0.4, 1.03))
    all_axes[0].set_ylabel("accuracy")
    return {"baselines": figure}


def search(rows: Rows) -> dict[str, Figure]:
    """Draw every trial's accuracy on held-out environments against each setting."""
    trials = rows.where(kind="trial")
    figure, all_axes = panels(
        3,
        2,
        caption="Every trial: accuracy on held-out environments against each setting (positions jittered). "
        "Red: the printed best setting.",
        height=4.6,
    )
    jitter = np.random.default_rng(0)
    for axes, key in zip(all_axes, DRAWN, strict=True):
        values = sorted({row[key] for row in trials}, key=lambda value: (isinstance(value, str), value))
        for index, value in enumerate(values):
            some = trials.where(**{key: value})
            x = index + jitter.uniform(-0.15, 0.15, len(some))
            colours = [COLOURS["baseline"] if row["seed"] == 0 else COLOURS["ours"] for row in some]
            axes.scatter(x, some["validation_accuracy"], s=16, c=colours)
        axes.set(title=key.replace("_", " "), ylim=(0.4, 1.03), xticks=range(len(values)))
        axes.set_xticklabels([f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    return {"trials": figure}
