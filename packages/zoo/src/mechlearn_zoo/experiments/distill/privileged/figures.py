"""Points over labels alone by the weight of the second loss: a cliff and a plateau."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.distill.privileged.measures import SHUFFLED, TRUE, WORLDS, errors, gain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    ("A", TRUE): "Style, true contexts",
    ("B", TRUE): "Abstention, true contexts",
    ("A", SHUFFLED): "Style, other questions' contexts",
    ("B", SHUFFLED): "Abstention, other questions' contexts",
    ("helpful", TRUE): "Helpful second label",
    ("useless", TRUE): "Useless second label",
    ("harmful", TRUE): "Harmful second label",
}
FORMS = {"mix": ("mixed in", COLOURS["baseline"]), "and-add": ("added by sign", COLOURS["ours"])}
SWIMMER = "Swimmer: the second loss is of the future"
CAPTION = "Test accuracy over labels alone by the weight of the second loss; mean over seeds with its 95 % interval."


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw a panel for each cell of the rows."""
    cells = {str(row["cell"]) for row in rows}
    if "Swimmer" in cells:
        return _swimmer(rows)
    shown = [cell for cell in TITLES if cell[0] in cells]
    columns = 2 if cells <= set(WORLDS) else 3
    lines = -(-len(shown) // columns)
    figure, axes = panels(columns, lines, caption=CAPTION, height=2.6 * lines)
    for axis, cell in zip(axes, shown, strict=True):
        _draw(axis, rows, *cell)
    axes[0].legend(loc="best")
    return {"weights": figure}


def _draw(axis: Axes, rows: Rows, cell: str, context: str) -> None:
    for form, (label, colour) in FORMS.items():
        weights = (0.03, 0.1, 0.3, 1.0)
        found = {weight: gain(cell, [f"{form} {weight:g}"], context=context)(rows) for weight in weights}
        known = {weight: one for weight, one in found.items() if one is not None}
        axis.plot(list(known), [one.value for one in known.values()], "o-", color=colour, label=label, markersize=4)
        low, high = ([getattr(one, end) for one in known.values()] for end in ("low", "high"))
        axis.fill_between(list(known), low, high, color=colour, alpha=0.2, linewidth=0)
    axis.axhline(0, color=COLOURS["reference"], linewidth=0.8)
    axis.set(xscale="log", xlabel="weight of the second loss", ylabel="points over labels alone", title=TITLES[cell, context])


def _swimmer(rows: Rows) -> dict[str, Figure]:
    figure, (axis,) = panels(1, 1, caption="Test error over that of labels alone, by the weight of the second loss; each seed.")
    weights = (1.0, 2.0, 4.0)
    alone = errors(rows, "label")
    for form, (label, colour) in FORMS.items():
        found = [errors(rows, f"{form} {weight:g}") for weight in weights]
        ratios = [[one / base for one, base in zip(some, alone, strict=True)] for some in found]
        axis.plot(weights, [median(some) for some in ratios], "o-", color=colour, label=label, markersize=4)
        for weight, some in zip(weights, ratios, strict=True):
            axis.plot([weight] * len(some), some, ".", color=colour, alpha=0.4, markersize=3)
    axis.axhline(1, color=COLOURS["reference"], linewidth=0.8)
    axis.set(xscale="log", xlabel="weight of the second loss", ylabel="error over labels alone's", title=SWIMMER)
    axis.set_xticks(weights, [f"{weight:g}" for weight in weights])
    axis.minorticks_off()
    axis.legend(loc="best")
    return {"weights": figure}
