"""Where one seed's explorers were, and how many cells they had covered by step."""

import numpy as np

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, curves, first_seed, picture

_LOOKS = {
    "max": ("MAX (planned)", "ours"), "reactive": ("reactive", "baseline"), "lasting": ("reactive, lasting", "third"),
    "random": ("at random", "reference"), "untrained": ("untrained ensemble", "fourth"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw visits and coverage."""
    caption = "Visits of one seed by position (across) and velocity (up), darker for more; share of cells by step, all seeds."
    figure, axes = panels(4, caption=caption, height=2.5)
    visits = first_seed(rows.where(kind="visits"))
    for axis, method in zip(axes, ("max", "reactive", "random"), strict=False):
        digits = str(visits.where(method=method)[0]["cells"])
        side = int(len(digits) ** 0.5)
        grid = np.array([int(digit) for digit in digits], dtype=float).reshape(side, side)
        name = _LOOKS[method][0]
        picture(axis, np.where(grid > 0, grid, np.nan), name, framed=True, origin="lower", cmap="Blues", vmin=-3, vmax=9)
        axis.set(xlabel="position", ylabel="velocity")
    curves(axes[3], rows.where(kind="coverage"), "step", "share", "method", _LOOKS)
    axes[3].set(xlabel="step", title="share of cells")
    axes[3].legend(fontsize=6)
    return {"coverage": figure}
