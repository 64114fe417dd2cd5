"""The surfaces with descent paths (figure 3.1), and quadratics whose gradients fade (figure B.2)."""

import math

import numpy as np
import torch

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.surfaces.landscapes.run import BOX, CONSISTENT, METHODS, PATCHWORK, losses
from mechlearn_zoo.learners.plots import Axes, Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the surfaces with descent paths (figure 3.1), and quadratics whose gradients fade (figure B.2)."""
    return {"descent": descents(rows), "fading": fading(rows)}


def descents(rows: Rows) -> Figure:
    """Draw paths from the same starts on every surface."""
    first = next(iter(rows.by("seed")))
    figure, (top, *below, spare) = panels(
        3,
        2,
        caption="Descent from the same starts (white circles), on the averaged loss, on each environment's alone, and on what "
        "two rules make of both. Star: the minimum that both environments share. Cross: the one that only averaging has; on "
        "A or B alone every path that comes near stops somewhere on a valley's floor instead. Dark is low loss.",
        height=5.2,
    )
    figure.set_dpi(200)  # of what is rasterised
    environments = {"A alone": 0, "B alone": 1}
    for axes, method in zip((top, *below), ("mean", "A alone", "B alone", "AND-mask", "geometric mean"), strict=True):
        _surface(axes, environments.get(method))
        for row in rows.where(kind="path", method=method, seed=first):
            x, y = np.array([point.split(",") for point in str(row["line"]).split()], dtype=float).T
            axes.plot(x, y, color="#fdfdfd", linewidth=0.9)
            axes.plot(x[:1], y[:1], "o", markerfacecolor="white", markeredgecolor=COLOURS["ink"], markersize=4)
            axes.plot(x[-1:], y[-1:], ".", color=COLOURS["fourth"], markersize=5)
        axes.set(title=method, xlim=BOX, ylim=BOX, aspect="equal")
    _shares(spare, rows)
    return figure


def _surface(axes: Axes, environment: int | None) -> None:
    line = torch.linspace(*BOX, 121, dtype=torch.float64)
    both = torch.stack(losses(torch.cartesian_prod(line, line))).reshape(2, 121, 121)
    loss = both.mean(0) if environment is None else both[environment]
    contours = axes.contourf(line.numpy(), line.numpy(), loss.T.numpy(), levels=18, cmap="viridis")
    contours.set_rasterized(True)  # as paths the valleys' outlines take a megabyte
    axes.plot(*CONSISTENT, "*", color=COLOURS["baseline"], markersize=11, zorder=5)
    axes.plot(*PATCHWORK, "x", color=COLOURS["baseline"], markersize=8, markeredgewidth=2.2, zorder=5)
    axes.grid(visible=False)


def _shares(axes: Axes, rows: Rows) -> None:
    """Draw the share of starts that each method carries to either minimum."""
    for offset, key, role in ((0.2, "consistent", "ours"), (-0.2, "patchwork", "baseline")):
        values = [np.median(rows.where(kind="outcome", method=method)[key]) for method in METHODS]
        axes.barh(np.arange(len(METHODS)) + offset, values, height=0.36, color=COLOURS[role], label=key)
    axes.set_yticks(range(len(METHODS)), METHODS)
    axes.set(title="share that reaches", xlim=(0, 1.1), ylim=(-0.6, len(METHODS) + 0.9))
    axes.legend(loc="upper right")
    axes.grid(visible=False)


def fading(rows: Rows) -> Figure:
    """Draw three pairs of quadratics with one and the same mean, and the length of the geometric mean's gradient."""
    figure, axes = panels(
        4,
        caption="Two quadratic environments (blue, red) that grow apart while their mean (grey) stays the same. The averaged "
        "gradient (grey arrow) does not notice; the geometric mean's (black) fades as sqrt(1 - k^2). Right: measured by the "
        "rule at random points, with the closed form dotted.",
        height=2.3,
    )
    angle = np.linspace(0, 2 * np.pi, 200)
    for panel, k in zip(axes, (0.0, 0.75, 0.99), strict=False):
        for curvatures, role in (((1 + k, 1 - k), "ours"), ((1 - k, 1 + k), "baseline"), ((1, 1), "reference")):
            x, y = (np.array([np.cos(angle), np.sin(angle)]).T / np.sqrt(curvatures)).T
            panel.plot(x, y, color=COLOURS[role], linewidth=1.3)
        for length, role in ((1.0, "reference"), (math.sqrt(1 - k**2), "ink")):
            step = -0.9 * length
            panel.annotate("", (1.4 + step, 1.4 + step), (1.4, 1.4), arrowprops={"arrowstyle": "->", "color": COLOURS[role]})
        panel.set(title=f"k = {k:g}", xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xticks=[], yticks=[])
        panel.grid(visible=False)
    some = rows.where(kind="fading", seed=next(iter(rows.by("seed"))))
    axes[3].plot(some["k"], some["ratio"], "o", color=COLOURS["ink"], markersize=4)
    axes[3].plot(np.linspace(0, 1, 100), np.sqrt(1 - np.linspace(0, 1, 100) ** 2), ":", color=COLOURS["reference"])
    axes[3].set(title="gradient ratio", xlabel="inconsistency k", ylim=(0, 1.05))
    return figure
