"""Every weight's way while training, as the notebook draws it."""

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.agreement.linear.run import RULES
from mechlearn_zoo.learners.plots import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every weight's way for every rule and choice of environments, as the notebook does."""
    figure, all_axes = panels(
        5, 3, height=5.0, caption="Weights while training (columns) by rule (rows), on all four environments and on the first "
        "or last two; median over seeds with their range. Averaging ends in three different patchworks, the others in one "
        "solution.",
    )  # fmt: skip
    roles = {"all": "ours", "first two": "baseline", "last two": "fourth"}
    for (method, weight), axes in zip(((m, w) for m in RULES for w in range(1, 6)), all_axes, strict=True):
        for subset, role in roles.items():
            steps, lines = rows.where(method=method, trained_on=subset).curves("step", f"theta_{weight}")
            band(axes, steps, lines, subset, COLOURS[role])
            axes.collections[-1].set_rasterized(True)  # 45 bands of some hundred corners each
        axes.set_ylim((-0.3, 3.4) if weight == 5 else (-0.3, 0.6))
        if method == "mean":
            axes.set_title("shared" if weight == 5 else f"weight {weight}")
        if weight == 1:
            axes.set_ylabel(method)
        if method != "geometric-mean":
            axes.set_xticklabels([])
    all_axes[4].legend(loc="center right", fontsize=7)
    return {"weights": figure}
