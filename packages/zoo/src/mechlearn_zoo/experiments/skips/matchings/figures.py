"""Accuracy of every method, seed by seed, with what its roll-outs cost."""

from claimlab import Rows
from mechlearn_zoo.experiments.skips.comparing.ends import Look, ends_and_costs
from mechlearn_zoo.learners.plots import Figure

LABELS = {
    "asi": "ASI", "fixed-6": "fixed, Δt = 6", "aligned-frames": "aligned, from true frames",
    "aligned-predictions": "aligned, from predictions", "soft-greedy": "ASI, soft minimum", "soft-aligned": "aligned softly",
    "time-agnostic": "no horizon", "gaussian": "ASI, Gaussian likelihood", "latent": "ASI, latents",
    "untraced": "ASI, without a trace", "untraced-memory": "ASI, a memory for the trace",
}  # fmt: skip
ROLES = {"asi": "ours", "fixed-6": "baseline"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracies and the length of roll-outs."""
    looks = {method: Look(label, ROLES.get(method, "third")) for method, label in LABELS.items()}
    caption = (
        "Left: how often a roll-out shows the right outcome, at equal model evaluations; every seed a dot, the median "
        "a bar. Right: evaluations that a roll-out takes."
    )
    return {"matchings": ends_and_costs(rows, looks, "label accuracy", caption)[0]}
