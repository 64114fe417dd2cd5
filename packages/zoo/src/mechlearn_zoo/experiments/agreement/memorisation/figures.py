"""Accuracy against the AND-mask's threshold (figures 3.8 and B.7), and the learning curves."""

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.learners.plots import Figure, level
from mechlearn_zoo.tasks.pictures.digits import CLASSES


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy against the threshold (figures 3.8 and B.7), and the learning curves."""
    return {"thresholds": by_threshold(rows), "learning-curves": learning_curves(rows)}


def by_threshold(rows: Rows) -> Figure:
    """Draw final accuracies against the AND-mask's threshold."""
    finals = rows.where(kind="final")
    figure, (axes,) = panels(
        caption=f"Accuracy after training against the AND-mask's threshold, every example an environment; median over seeds "
        f"with their range. Data: {finals[0]['data']}. Dotted: chance.",
        height=3.0,
    )
    for labels, role in (("true", "ours"), ("random", "baseline")):
        for key, style, name in (("train_accuracy", "-", "training"), ("test_accuracy", "--", "test")):
            thresholds, lines = finals.where(labels=labels).curves("threshold", key)
            if thresholds and not (labels == "random" and key == "test_accuracy"):
                band(axes, thresholds, lines, f"{labels} labels, {name}", COLOURS[role])
                axes.lines[-1].set(linestyle=style, marker=".")
    level(axes, 1 / CLASSES)
    axes.set(xlabel="threshold", ylabel="accuracy", ylim=(0, 1.03))
    axes.legend(loc="upper right")
    return figure


def learning_curves(rows: Rows) -> Figure:
    """Draw training accuracy over epochs for every threshold."""
    figure, all_axes = panels(
        2, caption="Training accuracy while training, for every threshold of the AND-mask: median over seeds.", height=2.8
    )
    thresholds = sorted(set(rows["threshold"]))
    for axes, labels in zip(all_axes, ("true", "random"), strict=True):
        for index, threshold in enumerate(thresholds):
            epochs, lines = rows.where(labels=labels, threshold=threshold).curves("epoch", "train_accuracy")
            # the lower of the two middle seeds where their number is even, as torch's nanmedian has it
            middle = np.nanquantile(lines, 0.5, axis=0, method="lower").tolist() if lines else []
            axes.plot(epochs, middle, color=colour(index), label=f"{threshold:g}")
        axes.set(title=f"{labels} labels", xlabel="epoch", ylim=(0, 1.03))
    all_axes[0].set_ylabel("training accuracy")
    all_axes[1].legend(title="threshold", ncols=2)
    return figure
