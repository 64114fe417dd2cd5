"""Errors by evidence, what a history tells about the goal, and how policies do in the world while they are searched."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Figure, curves, first_seed, picture
from mechlearn_zoo.tasks.finite.scenarios import GOAL, PIT, WALL

_ARMS = {
    "prior": ("model's prior", "baseline"), "counterfactual": ("counterfactual", "ours"),
    "and-mask": ("AND-mask over draws", "third"), "world": ("world's levels", "reference"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all seeds' curves and the first seed's beliefs."""
    found = {"evidence": _evidence(rows), "beliefs": _beliefs(first_seed(rows))}
    return {**found, "search": _search(rows)} if len(rows.where(kind="training")) else found


def posteriors(rows: Rows) -> dict[str, Figure]:
    """Draw a learned and the exact posterior beside the model."""
    figure, (axis, level) = panels(
        2, 1, caption="Error of four policies' values and probability of the true level, by steps of evidence; median, range.",
        height=2.8,
    )  # fmt: skip
    some = rows.where(kind="evaluation")
    for one, key in ((axis, "error"), (level, "level")):
        curves(one, some, "evidence", key, "posterior", {"amortised": ("amortised", "ours"), "exact": ("exact", "third")})
    band(axis, *some.where(posterior="exact").curves("evidence", "model_error"), "model", COLOURS["baseline"])
    axis.set_ylabel("mean absolute error")
    level.set_ylabel("probability of the true level")
    for one in (axis, level):
        one.set_xlabel("steps of evidence")
        one.set_ylim(bottom=0)
    axis.legend()
    return {"posteriors": figure}


def _evidence(rows: Rows) -> Figure:
    figure, (axis, spread, *found) = panels(
        3 if len(rows.where(kind="final")) else 2, 1, caption="Error of four policies' values, and how many levels (e to the "
        "entropy) a history leaves open, by steps of evidence; median and range over seeds. Right: return in the world of the "
        "policies found, a dot a seed.",
        height=2.8,
    )  # fmt: skip
    for returned in found:
        for place, (arm, (_, role)) in enumerate(_ARMS.items()):
            returns = rows.where(kind="final", arm=arm)["return"]
            returned.plot([place] * len(returns), returns, "o", ms=3, color=COLOURS[role])
            returned.plot(place, np.median(returns), "_", ms=18, color=COLOURS[role])
        returned.set_xticks(range(len(_ARMS)), [label for label, _ in _ARMS.values()], rotation=20, ha="right", fontsize=7)
        returned.set(xlim=(-0.5, len(_ARMS) - 0.5), ylabel="return of the policy found")
    some = rows.where(kind="evaluation")
    for key, label, role in (("error", "counterfactual", "ours"), ("model_error", "model", "baseline")):
        band(axis, *some.curves("evidence", key), label, COLOURS[role])
    steps, entropies = some.curves("evidence", "entropy")
    band(spread, steps, np.exp(np.array(entropies)), "levels left", COLOURS["third"])
    axis.set_ylabel("mean absolute error")
    axis.set_ylim(bottom=0)
    axis.legend()
    spread.set_ylabel("levels that still fit")
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
        picture(axis, np.sqrt(chance), f"{steps} steps", cmap="viridis", vmin=0, vmax=1)
        for cell, kind in enumerate(group["picture"]):
            mark = {GOAL: "G", PIT: "x", WALL: "\u25a0"}.get(int(kind))
            if mark:
                axis.text(cell % 6, cell // 6, mark, color="white", ha="center", va="center", fontsize=7)
    return figure


def _search(rows: Rows) -> Figure:
    figure, (axis,) = panels(
        1, 1, caption="Discounted return in the world while policies are searched in the model; median and range over seeds.",
        height=2.9,
    )  # fmt: skip
    curves(axis, rows.where(kind="training"), "update", "return", "arm", _ARMS)
    axis.set(xlabel="updates of 256 simulated episodes", ylabel="return in the world")
    axis.legend(fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    return figure
