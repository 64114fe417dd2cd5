"""Which pairs of environments and which parameters disagree about either network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Row, Rows, number, panels
from mechlearn_zoo.learners.spirals.methods import LABELS, ROLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the pairs of environments and the parameters that disagree most."""
    return {"pairs": pairs(rows), "parameters": parameters(rows)}


def pairs(rows: Rows) -> Figure:
    """Draw, for each network, every ordered pair's largest difference of true losses found by walking."""
    seed = int(min(rows["seed"]))
    figure, axes = panels(
        2,
        caption="How far two environments' losses come apart where that of the first has risen by no more than epsilon: the "
        f"largest difference of true losses on the way to the point that the score names, seed {seed}. Rows: the environment "
        "that must not notice; columns: the one that is compared. The colours' scale is logarithmic.",
        height=3.3,
    )
    values = [number(row, "walked") for row in rows.where(kind="pair", seed=seed)]
    limits = (np.log10(max(min(values), 1e-6)), np.log10(max(values)))
    for panel, method in zip(axes, LABELS, strict=True):
        _draw_pairs(panel, rows.where(kind="pair", method=method, seed=seed), limits)
        panel.set(title=LABELS[method], xlabel="environment compared")
    axes[0].set_ylabel("must not notice")
    return figure


def _draw_pairs(axes: Axes, some: Sequence[Row], limits: tuple[float, float]) -> None:
    ids = sorted({int(number(row, "stays")) for row in some})
    table = np.full((len(ids), len(ids)), np.nan)
    for row in some:
        place = ids.index(int(number(row, "stays"))), ids.index(int(number(row, "other")))
        table[place] = np.log10(max(number(row, "walked"), 1e-6))
    axes.imshow(table, cmap="YlOrRd", vmin=limits[0], vmax=limits[1])
    middle = sum(limits) / 2
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            axes.text(j, i, f"{10**value:.2g}", ha="center", va="center", color="white" if value > middle else COLOURS["ink"])
    axes.set(xticks=range(len(ids)), xticklabels=ids, yticks=range(len(ids)), yticklabels=ids)
    axes.grid(visible=False)


def parameters(rows: Rows) -> Figure:
    """Draw each parameter's part in the difference of the most inconsistent pair, median over seeds."""
    figure, (axes,) = panels(
        caption="Each parameter's part in the growth of the difference between the two losses of the most inconsistent pair, "
        "as the expansion counts it, in shares of the whole: median over seeds.",
        height=2.8,
    )
    names = [str(row["name"]) for row in rows.where(kind="parameter", method="mean", seed=int(min(rows["seed"])))]
    names.sort()
    for shift, method in zip((-0.2, 0.2), LABELS, strict=True):
        shares = [np.median(_shares(rows, method, name)) for name in names]
        axes.bar(np.arange(len(names)) + shift, shares, width=0.38, color=COLOURS[ROLES[method]], label=LABELS[method])
    axes.set(xticks=range(len(names)), xticklabels=names, ylabel="share of the difference")
    axes.legend()
    return figure


def _shares(rows: Rows, method: str, name: str) -> list[float]:
    shares: list[float] = []
    for group in rows.by("seed").values():
        some = group.where(kind="parameter", method=method)
        whole = sum(some["contribution"])
        shares.append(number(some.where(name=name)[0], "contribution") / whole)
    return shares
