"""How often each method's roll-outs end in the right cell, and what they cost."""

import numpy as np

from claimlab import COLOURS, Rows
from mechlearn_zoo.experiments.skips.comparing.ends import Look, ends_and_costs
from mechlearn_zoo.learners.plots import Figure

LABELS = {
    "joint": "options: skips or end", "within": "options: skips within H", "ends": "options: ends alone",
    "every-frame": "options: every frame", "separate": "a model for each option", "actions": "actions: H to come",
    "actions-blind": "actions: the acting one", "actions-fixed-1": "actions, Δt = 1", "actions-fixed-4": "actions, Δt = 4",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw right ends and evaluations."""
    looks = {m: Look(label, "ours" if m in ("joint", "actions") else "baseline") for m, label in LABELS.items()}
    caption = (
        "Left: share of roll-outs that end in the right cell, at equal model evaluations in training; every seed a "
        "dot, the median a bar. Right: evaluations that a roll-out of a whole walk takes. Dotted: the most frequent cell."
    )
    figure, left = ends_and_costs(rows, looks, "right ends", caption)
    left.axvline(float(np.median(rows["frequent"])), color=COLOURS["reference"], linestyle=":")
    return {"ends": figure}
