"""Errors by evidence, what a history tells about the goal, and how policies do in the world while they are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.tasks.finite.scenarios import GOAL, PIT, WALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ARMS = {
    "prior": "model's prior",
    "counterfactual": "counterfactual",
    "and-mask": "AND-mask over draws",
    "world": "world's levels",
}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all seeds' curves and the first seed's beliefs."""
    found = {"evidence": _evidence(rows), "beliefs": _beliefs(next(iter(rows.by("seed").values())))}
    return {**found, "search": _search(rows)} if len(rows.where(kind="training")) else found


def posteriors(rows: Rows) -> dict[str, Figure]:
    """Draw a learned and the exact posterior beside the model."""
    figure, (axis, level) = panels(
        2, 1, caption="Error of four policies' values and probability of the true level, by steps of evidence; median, range.",
        height=2.8,
    )  # fmt: skip
    some = rows.where(kind="evaluation")
    for name, role in (("amortised", "ours"), ("exact", "third")):
        band(axis, *some.where(posterior=name).curves("evidence", "error"), name, COLOURS[role])
        band(level, *some.where(posterior=name).curves("evidence", "level"), name, COLOURS[role])
    band(axis, *some.where(posterior="exact").curves("evidence", "model_error"), "model", COLOURS["baseline"])
    axis.set_ylabel("mean absolute error")
    level.set_ylabel("probability of the true level")
    for one in (axis, level):
        one.set_xlabel("steps of evidence")
        one.set_ylim(bottom=0)
    axis.legend()
    return {"posteriors": figure}


def _evidence(rows: Rows) -> Figure:
    figure, (axis, spread) = panels(
        2, 1, caption="Error of four policies' values, and how many levels (e to the entropy) a history leaves open, by steps "
        "of evidence; median and range over seeds.",
        height=2.8,
    )  # fmt: skip
    some = rows.where(kind="evaluation")
    for key, label, role in (("error", "counterfactual", "ours"), ("model_error", "model", "baseline")):
        steps, curves = some.curves("evidence", key)
        band(axis, steps, curves, label, COLOURS[role])
    steps, curves = some.curves("evidence", "entropy")
    band(spread, steps, np.exp(np.array(curves)), "levels left", COLOURS["third"])
    axis.set_ylabel("mean absolute error")
    axis.set_ylim(bottom=0)
    axis.legend()
    spread.set_ylabel("levels left open")
    spread.set_yscale("log")
    for one in (axis, spread):
        one.set_xlabel("steps of evidence")
    return figure


def _beliefs(rows: Rows) -> Figure:
    groups = rows.where(kind="belief").by("evidence")
    figure, axes = panels(
        len(groups), 1, caption="Where one history's posterior puts the goal, by steps of evidence; G the goal, x pits, "
        "squares walls of the level it happened in. First seed.",
        height=1.7,
    )  # fmt: skip
    for axis, (steps, group) in zip(axes, groups.items(), strict=True):
        chance = np.array(group["chance"]).reshape(6, 6)
        axis.imshow(np.sqrt(chance), cmap="viridis", vmin=0, vmax=1, interpolation="nearest")
        for cell, kind in enumerate(group["picture"]):
            mark = {GOAL: "G", PIT: "x", WALL: "\u25a0"}.get(int(kind))
            if mark:
                axis.text(cell % 6, cell // 6, mark, color="white", ha="center", va="center", fontsize=7)
        axis.set_title(f"{steps} steps", fontsize=8)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.grid(visible=False)
    return figure


def _search(rows: Rows) -> Figure:
    figure, (axis,) = panels(
        1, 1, caption="Discounted return in the world while policies are searched in the model; median and range over seeds.",
        height=2.9,
    )  # fmt: skip
    for index, (arm, label) in enumerate(_ARMS.items()):
        updates, curves = rows.where(kind="training", arm=arm).curves("update", "return")
        shade = COLOURS["reference"] if arm == "world" else (COLOURS["baseline"], COLOURS["ours"], colour(2))[index]
        band(axis, updates, curves, label, shade)
    axis.set_xlabel("updates of 256 simulated episodes")
    axis.set_ylabel("return in the world")
    axis.legend(fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    return figure
