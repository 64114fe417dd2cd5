"""The fit and the changed fit (figure B.1), and both losses against the changed weight."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.surfaces.patchwork.run import GRID
from mechlearn_zoo.learners.plots import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the fit and the changed fit (figure B.1), and both losses against theta_6."""
    figure, (left, middle, right) = panels(
        3,
        caption="Left: the staircase and the patchwork theta*, as printed and with its first step centred. Middle: theta_6 = "
        "-0.5 changes nothing that environment A sees (x up to 0.5). Right: loss of each environment against theta_6, for the "
        "printed theta*.",
        height=2.9,
    )
    x = np.linspace(0, 1, GRID)

    def values(name: str) -> list[float]:
        return [float(value) for value in str(rows.where(kind="function", name=name)[0]["values"]).split()]

    for axes, shown in ((left, ("printed 1", "centred 1")), (middle, ("printed -0.5",))):
        axes.axvspan(0, 0.5, color="#eef3f6", linewidth=0)
        axes.plot(x, values("target"), color=COLOURS["reference"], linewidth=3, label="f*")
        for name, role, style in zip(shown, ("baseline", "ours"), ("-", "--"), strict=False):
            axes.plot(x, values(name), style, color=COLOURS[role], label=name.split()[0] if shown[1:] else None)
        axes.set(xlabel="x", ylim=(-0.7, 2.2))
    left.set_title("theta*")
    left.legend()
    middle.set_title("theta_6 = -0.5")
    some = rows.where(kind="loss", version="printed")
    for key, role, label in (("loss_a", "ours", "A"), ("loss_b", "baseline", "B")):
        band(right, *some.curves("theta_6", key), label, COLOURS[role])
    right.set(title="loss", xlabel="theta_6", yscale="log")
    right.legend()
    return {"patchwork": figure}
