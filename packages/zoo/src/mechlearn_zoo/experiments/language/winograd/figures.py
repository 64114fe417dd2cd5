"""What each way to train makes of the three kinds of items, at the end and on the way."""

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Figure, columns, level

NAMES = {"averaging": "averaging", "and-mask": "AND-mask", "no-association": "averaging, text without association"}
PARTS = {"associative": "ours", "neutral": "third", "opposed": "baseline"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracies at the end as bars, and neutral and opposed items' over training."""
    return {"parts": _bars(rows), "training": _curves(rows)}


def _bars(rows: Rows) -> Figure:
    figure, (axis,) = panels(
        caption="Accuracy by kind of item; consistency is the share of associative items whose answer changes with the switch. "
        "Bars are means over seeds, dots seeds; the dashed line is guessing.",
        height=3.0,
    )
    ends = rows.where(kind="final")
    methods = [method for method in NAMES if len(ends.where(method=method))]
    keys = {**PARTS, "consistency": "fourth"}
    shares = {(key, role): [ends.where(method=method)[key] for method in methods] for key, role in keys.items()}
    columns(axis, [NAMES[method] for method in methods], shares, bars=True)
    level(axis, 0.5, style="--")
    axis.set(ylabel="share of items", ylim=(0, 1.3))
    axis.legend(ncols=4, fontsize=8, loc="upper center")
    return figure


def _curves(rows: Rows) -> Figure:
    looks = rows.where(kind="look")
    methods = [method for method in NAMES if len(looks.where(method=method))]
    figure, axes = panels(max(1, len(methods)), caption="Accuracy over training; median and range over seeds.", height=2.6)
    for axis, method in zip(axes, methods, strict=False):
        for part, role in PARTS.items():
            band(axis, *looks.where(method=method).curves("step", part), part, COLOURS[role])
        level(axis, 0.5, style="--")
        axis.set(title=NAMES[method], xlabel="step", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("accuracy")
    axes[0].legend(fontsize=7)
    return figure
