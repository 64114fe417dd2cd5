"""Where one seed's explorers were, and how many cells they had covered by step."""

import numpy as np

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, curves, first_seed, legend_below, picture

_LOOKS = {
    "max": ("MAX (planned)", "ours"), "reactive": ("reactive", "baseline"), "lasting": ("reactive, lasting", "third"),
    "random": ("at random", "reference"), "untrained": ("untrained", "fourth"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw visits and coverage."""
    caption = "Visits of one seed by position (across) and velocity (up), darker for more; share of cells by step, all seeds."
    figure, axes = panels(4, caption=caption, height=2.5)
    visits = first_seed(rows.where(kind="visits"))
    for axis, method in zip(axes, ("max", "reactive", "random"), strict=False):
        digits = [int(digit) for digit in str(visits.where(method=method)[0]["cells"])]
        grid = np.array(digits, dtype=float).reshape(-1, int(len(digits) ** 0.5))
        name = f"{_LOOKS[method][0]}: {100 * np.mean(grid > 0):.0f} %"
        picture(axis, np.where(grid > 0, grid, np.nan), name, framed=True, origin="lower", cmap="Blues", vmin=-3, vmax=9)
        axis.set_xlabel("position")
    axes[0].set_ylabel("velocity")
    curves(axes[3], rows.where(kind="coverage"), "step", "share", "method", _LOOKS)
    axes[3].set_xlabel("step")
    axes[3].set_title("share of cells", fontsize=8)
    legend_below(figure, axes[3], len(_LOOKS))
    return {"coverage": figure}
