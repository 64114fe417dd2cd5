"""Contour lines of Hessians and their means (figures 3.3 and B.3), and inconsistency beside both bounds."""

import numpy as np
import torch
from torch import Tensor

from claimlab import COLOURS, Rows, panels
from mechlearn.surfaces import karcher_mean
from mechlearn_zoo.experiments.surfaces.hessians.run import caption
from mechlearn_zoo.learners.plots import Axes, Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the contour lines (figures 3.3 and B.3), and inconsistency beside both bounds in one dimension."""
    figure, (left, middle, right) = panels(
        3,
        caption="Left and middle: the lines theta^T H^-1 theta = 1 of both environments' Hessians, of their arithmetic and of "
        "their geometric mean; the printed factors stand in the titles beside the measured ratio of areas. Right: one "
        "parameter, environments with curvatures 1 and r. The inconsistency crosses proposition 3's printed bound at r = "
        "2.41 and comes as near to the corrected one as one likes.",
        height=3.1,
    )
    for axes, curvature, printed in ((left, 0.05, "printed 5"), (middle, 0.01, "printed 25, 100")):
        _ellipses(axes, *caption(curvature))
        ratio = rows.where(kind="caption", curvature=curvature)["volume_ratio"][0]
        axes.set_title(f"c = {curvature:g}: {ratio:.2f}\n({printed})")
    some = rows.where(kind="one-dimension")
    for key, role, style in (("inconsistency", "ink", "-"), ("printed", "baseline", "--"), ("corrected", "ours", "--")):
        x, lines = some.curves("ratio", key)
        axes_label = key if key == "inconsistency" else f"bound, {key}"
        right.plot(x, lines[0], style, color=COLOURS[role], label=axes_label)
    right.set(xscale="log", yscale="log", xlabel="r", xlim=(1, 1e3), ylim=(0.8, 2e3), title="in units of epsilon\n")
    right.legend()
    return {"hessians": figure}


def _ellipses(axes: Axes, a: Tensor, b: Tensor) -> None:
    geometric = karcher_mean(torch.stack([a, b]))
    angle = np.linspace(0, 2 * np.pi, 200)
    for matrix, role, label in (
        (a, "ours", "A"),
        (b, "baseline", "B"),
        ((a + b) / 2, "reference", "arithmetic"),
        (geometric, "ink", "geometric"),
    ):
        x, y = np.sqrt(np.diag(matrix.numpy()))[:, None] * np.array([np.cos(angle), np.sin(angle)])
        axes.plot(x, y, color=COLOURS[role], label=label)
    axes.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.9))
    axes.grid(visible=False)
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8, handlelength=1.2)
