"""The error of each method's values."""

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.skips.comparing.ends import draw_range
from mechlearn_zoo.learners.plots import Figure

_LABELS = {"asi": "ASI", "fixed-3": "fixed, Δt = 3", "fixed-6": "fixed, Δt = 6", "regression": "regression"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw errors by method."""
    figure, (axes,) = panels(
        caption="The value of a ball's start: mean squared error over the variance of the true values on test boards, 1 for "
        "their mean (dotted). Medians over seeds, lines from the lowest to the highest seed.",
        height=3.0,
    )
    for x, method in enumerate(_LABELS):
        draw_range(axes, x, rows.where(method=method)["error"], "ours" if method == "asi" else "baseline")
    axes.axhline(1.0, color=COLOURS["reference"], linestyle=":")
    axes.set(ylabel="error over variance", ylim=(0, None), xlim=(-0.5, len(_LABELS) - 0.5))
    axes.set_xticks(range(len(_LABELS)), list(_LABELS.values()))
    return {"values": figure}
