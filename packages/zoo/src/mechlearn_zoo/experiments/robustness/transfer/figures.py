"""Pairs by alignment, errors of surrogates, ensembles and defences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.robustness.classifiers import KINDS
from mechlearn_zoo.experiments.robustness.transfer.ensembles import WAYS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ATTACKS = ("clean", "plain mean", "sites mean", "sites mask", "white box")
RULE_NAMES = ("single", "mean", "and-mask 0.5", "and-mask", "and-mask 1")


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw what the rows have."""
    first = rows.where(lambda row: row.get("pair") == rows[0]["pair"] and row.get("norm", "2") == "2")
    drawn = {"pairs": _pairs(first)}
    if len(first.where(kind="ensemble")):
        drawn["agreement"] = _agreement(first)
        drawn["defences"] = _defences(first)
    return drawn


def _pairs(rows: Rows) -> Figure:
    figure, axes = panels(
        2, caption="Left: how far a transferred attack raises the target's margin, as a share of what the target's own attack "
        "does, "
        "against the alignment of their input gradients; a point a pair and seed, grey: the identity. Right: error over eight "
        "targets by surrogate, filled strongly regularised; a point a seed.", height=3.3,
    )  # fmt: skip
    pairs = rows.where(kind="pair")
    axes[0].plot([0.4, 1], [0.4, 1], color=COLOURS["reference"], linewidth=0.8)
    for index, family in enumerate(KINDS):
        some = pairs.where(surrogate=family)
        axes[0].plot(
            some["margin_alignment"], some["margin_ratio"], ".", markersize=4, alpha=0.6, color=colour(index), label=family
        )
    axes[0].set_xlabel("alignment of margins' gradients")
    axes[0].set_ylabel("rise of the margin, share")
    axes[0].legend(title="surrogate", title_fontsize=9)
    for index, family in enumerate(KINDS):
        for complexity, shift, face in (("H", -0.12, "white"), ("L", 0.12, colour(index))):
            found = [
                float(np.mean(group.where(surrogate=family, surrogate_complexity=complexity)["error"]))
                for group in pairs.by("seed").values()
            ]
            axes[1].plot([index + shift] * len(found), found, "o", markersize=5, color=colour(index), markerfacecolor=face)
    axes[1].set_xticks(range(len(KINDS)), KINDS)
    axes[1].set_ylabel("error of targets under its attack")
    return figure


def _agreement(rows: Rows) -> Figure:
    figure, axes = panels(
        2, caption="Error over eight targets under attacks along what eight surrogates agree on; left surrogates of one "
        "population, "
        "right of sites with codes of their own. Bars: mean over seeds, points: seeds.", height=3.0,
    )  # fmt: skip
    for axis, trained, title in zip(axes, ("plain", "sites"), ("one population", "sites with codes"), strict=True):
        names = [name for name in RULE_NAMES if len(rows.where(kind="ensemble", trained=trained, rule=name))]
        found = [rows.where(kind="ensemble", trained=trained, rule=name)["error"] for name in names]
        _bars(axis, names, found)
        axis.set_title(title)
        axis.set_ylim(0, 1)
    axes[0].set_ylabel("error of targets")
    return figure


def _defences(rows: Rows) -> Figure:
    figure, axes = panels(
        1, caption="Error of a perceptron by how it was trained (rows) and by the attack (columns), mean over seeds; all "
        "trained for "
        "the same number of steps.", height=3.6,
    )  # fmt: skip
    table = np.array(
        [[np.mean(rows.where(kind="defence", way=way, attack=attack)["error"]) for attack in ATTACKS] for way in WAYS]
    )
    axis = axes[0]
    axis.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        shade = "white" if value > 0.55 else COLOURS["ink"]
        axis.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, fontsize=9)
    axis.set_xticks(range(len(ATTACKS)), ATTACKS)
    axis.set_yticks(range(len(WAYS)), list(WAYS))
    axis.grid(visible=False)
    return figure


def _bars(axis: Axes, names: list[str], found: list[list[float]]) -> None:
    for place, values in enumerate(found):
        mask = names[place].startswith("and-mask")
        shade = COLOURS["ours"] if mask else COLOURS["baseline" if names[place] == "mean" else "reference"]
        axis.bar(place, np.mean(values), width=0.6, color=shade, alpha=0.5)
        axis.plot([place] * len(values), values, "o", markersize=3.5, color=shade)
    axis.set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names], fontsize=8)
