"""Training and test accuracy of every method's trials, and what is claimed of the selected ones."""

from dataclasses import dataclass

from matplotlib.figure import Figure

from craik.lab import Claim, Measurement, Row, Rows, number
from craik.lab.drawing import COLOURS, panels


def accuracies(rows: Rows) -> Figure:
    """Draw training and test accuracy of every trial, with the selected ones filled (figure 3.6)."""
    methods = list(dict.fromkeys(str(row["method"]) for row in rows))
    figure, all_axes = panels(
        2,
        caption="Every trial's accuracy, training on the left and test on the right; filled: the trial that is best on "
        "held-out environments. Dotted: chance.",
        height=2.9,
    )
    for axes, key, title in zip(all_axes, ("train_accuracy", "test_accuracy"), ("Training", "Test"), strict=True):
        for index, method in enumerate(methods):
            colour = COLOURS["ours" if method == "and-mask" else "baseline"]
            some = rows.where(method=method, outcome="finished")
            axes.plot([index] * len(some), some[key], "o", color=colour, markerfacecolor="none")
            best = selected(rows, method)
            if best is not None:
                axes.plot([index], [number(best, key)], "o", color=colour)
        axes.axhline(0.5, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
        axes.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
        axes.set(title=title, ylim=(0.4, 1.03))
    all_axes[0].set_ylabel("accuracy")
    return figure


def selected(rows: Rows, method: str) -> Row | None:
    """Return a method's trial that is best on held-out environments."""
    some = rows.where(method=method, outcome="finished")
    return max(some, key=lambda row: number(row, "validation_accuracy"), default=None)


@dataclass(frozen=True)
class Selected:
    """The test accuracy of a method's selected trial; its interval spans all finished trials."""

    method: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the measurement, or None without a finished trial."""
        best = selected(rows, self.method)
        if best is None:
            return None
        found = rows.where(method=self.method, outcome="finished")["test_accuracy"]
        return Measurement(number(best, "test_accuracy"), min(found), max(found), len(found))


_NAMES = {"dropout": "dropout", "l1": "L1", "l2": "L2", "batch-norm": "BatchNorm", "dann": "DANN"}

CLAIMS = (
    *(
        Claim(
            id=f"spirals-baselines.{method}",
            text=f"Nothing in the printed ranges makes {name} significantly better than chance on o.o.d. test data.",
            source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
            printed="about 0.50",
            measure=Selected(method),
            holds=lambda measured: measured.value <= 0.6,
            condition="test accuracy of the trial selected on held-out environments at most 0.6 (interval: all trials)",
        )
        for method, name in _NAMES.items()
    ),
    Claim(
        id="spirals-baselines.irm",
        text="IRM does not reach perfect test accuracy: the AND-mask was the only method that did.",
        source="thesis section 3.3.1 and figure 3.6; paper section 3.1 and figure 6",
        printed="below 1.00",
        measure=Selected("irm"),
        holds=lambda measured: measured.value <= 0.95,
        condition="test accuracy of the trial selected on held-out environments at most 0.95 (interval: all trials)",
    ),
    Claim(
        id="spirals-baselines.and-mask",
        text="With settings from the same ranges, and as many trials, the AND-mask does find the spirals.",
        source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
        printed="about 1.00",
        measure=Selected("and-mask"),
        holds=lambda measured: measured.value >= 0.9,
        condition="test accuracy of the trial selected on held-out environments at least 0.9 (interval: all trials)",
    ),
)
