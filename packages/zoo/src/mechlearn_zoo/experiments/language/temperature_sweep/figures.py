"""Quality against diversity, both generators at equal diversity, and how both costs move with the rounds of SeqGAN."""

from itertools import pairwise

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.language.temperature_sweep.measures import curve, dominated
from mechlearn_zoo.learners.plots import Axes, Figure, curves, level
from mechlearn_zoo.methods.language.temperature import Curve, dominance

NAMES = {"mle": ("maximum likelihood", COLOURS["ours"]), "seqgan": ("SeqGAN", COLOURS["baseline"])}
ROUNDS = {"seqgan": ("SeqGAN", "ours"), "pg-bleu": ("policy gradient of BLEU", "baseline")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the curves of the seed with the median share, and how much better maximum likelihood is, a line per seed."""
    figure, (axis, beside) = panels(
        2, caption="Left: two generators over temperatures, on the seed with the median share of diversity at which maximum "
        "likelihood is better; dots mark T = 1, lower is better on both axes. Right: how much better maximum likelihood is at "
        "the same diversity, a line per seed, that of the left black; below 0, SeqGAN is better.",
        height=3.2,
    )  # fmt: skip
    points = rows.where(kind="point")
    shown = median_seed(points)
    for arm, (label, shade) in NAMES.items():
        _draw(axis, [(p.diversity, p.quality, p.temperature) for p in curve(shown, arm)], label, shade)
    axis.set(xlabel="NLL of held-out text: less diverse to the right", ylabel="NLL of samples under the oracle")
    axis.legend(fontsize=8)
    for index, group in enumerate(points.by("seed").values()):
        one, other = curve(group, "mle"), curve(group, "seqgan")
        if found := dominance(one, other) if len(one) > 1 and len(other) > 1 else None:
            at = np.linspace(found.low, found.high, 200)
            less, drawn = _best(other, at) - _best(one, at), group[0]["seed"] == shown[0]["seed"]
            shade, wide = (COLOURS["ink"], 2.2) if drawn else (colour(index), 1.2)
            beside.plot(np.linspace(0, 1, len(at)), less, color=shade, linewidth=wide)
    level(beside, 0, style="-")
    beside.set(xlabel="share of the common range of diversity", ylabel="NLL, SeqGAN less likelihood")
    return {"curves": figure}


def median_seed(points: Rows) -> Rows:
    """Return the points of the seed with the median share, the lower of two; the first seed's where no share is known."""
    seeds = list(points.by("seed").values())
    known = sorted((found, index) for index, one in enumerate(seeds) if (found := dominated(one)) is not None)
    return seeds[known[(len(known) - 1) // 2][1]] if known else seeds[0]


def rounds(rows: Rows) -> dict[str, Figure]:
    """Draw NLL_oracle and NLL_test by round, with maximum likelihood as a line."""
    figure, axes = panels(
        2, caption="After maximum likelihood: what the oracle says of samples (left) and what the model says of held-out text "
        "(right), lower is better; median and range over seeds.",
        height=3.0,
    )  # fmt: skip
    for axis, key, title in zip(axes, ("oracle", "test"), ("samples under the oracle", "held-out text"), strict=True):
        curves(axis, rows.where(kind="round"), "round", key, "arm", ROUNDS)
        if base := rows.where(kind="end", arm="mle")[key]:
            level(axis, sorted(base)[len(base) // 2], "maximum likelihood", "--")
        axis.set(title=title, xlabel="round")
    axes[0].set_ylabel("negative log-likelihood per token")
    axes[0].legend(fontsize=8)
    return {"rounds": figure}


def _draw(axis: Axes, points: list[tuple[float, float, float]], label: str, shade: str) -> None:
    axis.plot([x for x, _, _ in points], [y for _, y, _ in points], color=shade, label=label, linewidth=1.0)
    one = [(x, y) for x, y, temperature in points if temperature == 1]
    axis.plot([x for x, _ in one], [y for _, y in one], "o", color=shade, markersize=5)


def _best(one: Curve, at: np.ndarray) -> np.ndarray:
    """Return the least quality cost at each diversity, among the pieces of a curve that pass it, as `dominance` compares."""
    pieces = [sorted((end.diversity, end.quality) for end in piece) for piece in pairwise(sorted(one))]
    return np.min([np.interp(at, *zip(*piece, strict=True), left=np.inf, right=np.inf) for piece in pieces], axis=0)
