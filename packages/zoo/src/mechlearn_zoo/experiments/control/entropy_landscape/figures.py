"""Shares of starts that reach the optimum, where policies go, the objective between and around solutions."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.learners.plots import Figure, curves, first_seed, picture


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all seeds' shares, and the first seed's maps, path and directions."""
    first = first_seed(rows)
    found = {"shares": _shares(rows), "visits": _visits(first)}
    return {**found, "shape": _shape(first)} if len(first.where(kind="path")) else found


def _shares(rows: Rows) -> Figure:
    paths = rows.where(kind="path")
    figure, (*axes, way) = panels(
        3, 1, caption="Share of starts within 5 % of the best, by learning rate; median over seeds with their range. "
        "150 exact gradient steps each. Right: the objective on the straight way from a trapped to a global solution.",
        height=2.9,
    )  # fmt: skip
    for index, tau in enumerate(list(paths.by("tau"))[:2]):
        for number, group in enumerate(paths.where(tau=tau).by("seed").values()):
            values = np.array(group["value"])
            way.plot(group["share"], values - values[0], color=colour(index), lw=1, label="" if number else f"tau {tau:g}")
    way.axhline(0, color=COLOURS["reference"], lw=0.6)
    way.set(xlabel="share of the way", ylabel="objective gained", title="from trap to optimum")
    for axis, (world, title) in zip(axes, (("trap", "with a near reward"), ("plain", "without")), strict=True):
        some = rows.where(kind="share", world=world)
        curves(axis, some, "rate", "share", "tau", {t: (f"tau {t:g}", colour(i)) for i, t in enumerate(some.by("tau"))})
        axis.set(xscale="log", title=title, xlabel="learning rate", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("share of starts")
    axes[1].legend(fontsize=7)
    if len(paths):
        way.legend(fontsize=7)
    return figure


def _visits(rows: Rows) -> Figure:
    taus = rows.where(kind="visits").by("tau")
    figure, axes = panels(
        len(taus), 1, caption="Discounted visits of the policies found, mean over starts; N near, F far reward. First seed.",
        height=1.9,
    )  # fmt: skip
    for axis, (tau, group) in zip(axes, taus.items(), strict=True):
        side = int(max(group["row"])) + 1
        found = np.array(group["visits"]).reshape(side, side)
        picture(axis, found, f"tau {tau:g}", cmap="magma", vmin=0, vmax=1)
        axis.text(2, 0, "N", ha="center", va="center", color=COLOURS["fourth"], fontweight="bold")
        axis.text(side - 1, side - 1, "F", ha="center", va="center", color=COLOURS["fourth"], fontweight="bold")
    return figure


def _shape(rows: Rows) -> Figure:
    figure, (path, around) = panels(
        2, 1, caption="From a trapped solution (0) to a global one (1), and directions around the trapped one: slope and "
        "curvature at radius 1. First seed.",
        height=3.0,
    )  # fmt: skip
    for index, (tau, group) in enumerate(rows.where(kind="path").by("tau").items()):
        path.plot(group["share"], group["value"], color=colour(index), label=f"tau {tau:g}")
        some = rows.where(kind="direction", tau=tau)
        around.scatter(some["slope"], some["curvature"], s=5, color=colour(index), alpha=0.6, linewidths=0)
    path.set(xlabel="share of the way", ylabel="objective")
    path.legend(fontsize=7)
    around.set(xlabel="slope", ylabel="curvature")
    return figure
