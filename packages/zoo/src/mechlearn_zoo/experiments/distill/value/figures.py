"""Each method's error against exact values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = {
    "constant": ("mean return", "reference"),
    "ridge": ("ridge", "fourth"),
    "no-teacher": ("no teacher", "baseline"),
    "auxiliary": ("auxiliary head", "fifth"),
    "ldt-placebo": ("LDT, others' trajectories", "third"),
    "ldt": ("LDT", "ours"),
    "counted": ("counted transitions", "sixth"),
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's errors, a line of points a method."""
    names = [name for name in _METHODS if rows.where(method=name)]
    figure, (axes,) = panels(
        caption="Error of learnt values against the exact ones, as a share of the values' variance over states, at the time "
        "(or strength) at which held-out returns were best predicted: a point a seed.",
        height=0.8 + 0.32 * len(names),
    )
    for place, name in enumerate(names):
        found = rows.where(method=name)["selected"]
        axes.plot(found, [place] * len(found), "o", color=COLOURS[_METHODS[name][1]], alpha=0.75)
    axes.set_yticks(range(len(names)), [_METHODS[name][0] for name in names])
    axes.set_xscale("log")
    axes.set(xlabel="error, share of variance", ylim=(len(names) - 0.5, -0.5))
    return {"errors": figure}
