"""The plane through both solutions, a panel a surface, and the worst line of each solution."""

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.surfaces.environments.run import METHODS
from mechlearn_zoo.learners.plots import Axes, Figure, first_seed


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's plane, and its worst lines."""
    first = first_seed(rows)
    return {"planes": planes(first), "worst": worst(first)}


def planes(first: Rows) -> Figure:
    """Draw the averaged loss and that of two environments on the same plane."""
    figure, axes = panels(
        3, 1, height=2.9,
        caption="Figure 3.1 from networks: the loss on the plane through what averaging found (cross) and what the AND-mask "
        "found (star); the second axis is the consistency score's worst direction at the cross. Left the mean of all "
        "environments, then the one that stays and the one that suffers. Dark is low, in logs; one seed.",
    )  # fmt: skip
    titles = {"mean": "all environments", "stays": "one environment", "other": "another"}
    for axis, name in zip(axes, titles, strict=True):
        values = np.array([float(word) for word in str(first.where(kind="plane", surface=name)[0]["losses"]).split()])
        side = round(len(values) ** 0.5)
        loss = np.log10(np.maximum(values, 1e-4)).reshape(side, side)
        grids = np.linspace(-0.5, 1.5, side), np.linspace(-1.5, 1.5, side)
        drawn = axis.contourf(*grids, loss.T, levels=np.linspace(-4, 2, 19), cmap="viridis", extend="both")
        drawn.set_rasterized(True)
        axis.plot(0, 0, "x", color=COLOURS["baseline"], markersize=8, markeredgewidth=2.2)
        axis.plot(1, 0, "*", color=COLOURS["baseline"], markersize=11)
        axis.set(title=titles[name], xlabel="to the AND-mask's")
        axis.grid(visible=False)
    axes[0].set_ylabel("worst direction")
    figure.set_dpi(200)
    return figure


def worst(first: Rows) -> Figure:
    """Draw each solution's worst line: what one environment notices, and what the other does."""
    figure, axes = panels(
        2, 1, height=2.8,
        caption="Along each solution's worst direction, from where the environment that stays has just noticed (1) to its "
        "mirror image: its loss (blue) and that of the environment that suffers most (red). One seed.",
    )  # fmt: skip
    for axis, method in zip(axes, METHODS, strict=True):
        _line(axis, first.where(kind="line", method=method))
        axis.set(title=method, xlabel="displacement", yscale="symlog")
    axes[0].set_ylabel("loss")
    axes[0].legend(fontsize=8)
    return figure


def _line(axis: Axes, rows: Rows) -> None:
    for role, tone, label in (("stays", "ours", "stays"), ("other", "baseline", "suffers")):
        values = [float(word) for word in str(rows.where(role=role)[0]["losses"]).split()]
        axis.plot(np.linspace(-1.5, 1.5, len(values)), values, color=COLOURS[tone], label=label)
