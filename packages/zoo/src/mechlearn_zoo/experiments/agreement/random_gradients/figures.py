"""Mean squares of combined random gradients against the number of environments (figure 3.4)."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw mean squares against the number of environments (figure 3.4), with 1/d and the corrected bound."""
    figure, (axes,) = panels(
        caption="Mean square of a component against the number of environments d, for gradients that are pure noise "
        "(t = 0.8 d). Where no component survived in any draw there is nothing to plot on a logarithmic axis."
    )
    for key, role, label in (("mean", "baseline", "averaging"), ("masked", "ours", "AND-mask")):
        d, lines = rows.curves("d", key)
        positive = np.where(np.asarray(lines) > 0, lines, np.nan)
        seen = ~np.isnan(positive).all(axis=0)
        band(axes, np.asarray(d)[seen], positive[:, seen], label, COLOURS[role])
    d, bounds = rows.curves("d", "corrected_bound")
    axes.plot(d, [1 / count for count in d], ":", color=COLOURS["reference"], label="1 / d")
    axes.plot(d, bounds[0], "--", color=COLOURS["reference"], label="proposition 2, corrected")
    axes.set(xlabel="environments d", ylabel="mean square of a component", yscale="log", ylim=(1e-9, 3))
    axes.legend()
    return {"magnitude": figure}
