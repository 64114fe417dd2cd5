"""Quality against diversity, both generators at equal diversity, and how both costs move with the rounds of SeqGAN."""

from itertools import pairwise

import numpy as np

from claimlab import COLOURS, Rows, colour, number, panels
from mechlearn_zoo.experiments.language.temperature_sweep.measures import curve, dominated
from mechlearn_zoo.learners.plots import Axes, Figure, curves, level
from mechlearn_zoo.methods.language.temperature import Curve, dominance

NAMES = {"mle": ("maximum likelihood", COLOURS["ours"]), "seqgan": ("SeqGAN", COLOURS["baseline"])}
ROUNDS = {"seqgan": ("SeqGAN", "ours"), "pg-bleu": ("policy gradient of BLEU", "baseline")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the curves of the seed with the median share near T = 1, and both costs' difference at equal diversity, per seed."""
    figure, (axis, beside) = panels(
        2, caption="Left: two generators near T = 1 (dots), on the seed with the median share of diversity at which maximum "
        "likelihood is better; lower is better on both axes. The arrow leads from SeqGAN at T = 1 to maximum likelihood at the "
        "same diversity. Right: their difference at each diversity, a line per seed, that of the left black, a dot at SeqGAN's "
        "T = 1; above 0, maximum likelihood is better.",
        height=3.2,
    )  # fmt: skip
    points = rows.where(kind="point")
    shown = median_seed(points)
    for arm, (label, shade) in NAMES.items():
        _draw(axis, curve(shown, arm), label, shade)
    axis.set(xlabel="NLL of held-out text (→ less diverse)", ylabel="NLL of samples under the oracle")
    axis.set_title("At T = 1 SeqGAN looks better", fontsize=10)
    axis.legend(fontsize=8)
    for index, group in enumerate(points.by("seed").values()):
        one, other = curve(group, "mle"), curve(group, "seqgan")
        if found := dominance(one, other) if len(one) > 1 and len(other) > 1 else None:
            drawn = group[0]["seed"] == shown[0]["seed"]
            shade, wide = (COLOURS["ink"], 2.2) if drawn else (colour(index), 1.2)
            hot = [p.diversity for p in other if p.temperature == 1 and found.low <= p.diversity <= found.high]
            for at, style in ((np.linspace(found.low, found.high, 200), "-"), (np.array(hot), "o")):
                share, ends = (at - found.low) / (found.high - found.low), (_best(other, at), _best(one, at))
                beside.plot(share, ends[0] - ends[1], style, color=shade, linewidth=wide, markersize=5)
                if drawn and style == "o" and hot:
                    axis.annotate(
                        "",
                        (hot[0], ends[1][0]),
                        (hot[0], ends[0][0]),
                        arrowprops={"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0},
                    )
    level(beside, 0, style="-")
    beside.set_xlim(0, 1.02)
    beside.set_xscale("function", functions=(np.sqrt, np.square))
    beside.set(xlabel="share of the common range of diversity", ylabel="SeqGAN's NLL less likelihood's")
    beside.set_xticks([0, 0.02, 0.1, 0.3, 0.6, 1], ["0", "0.02", "0.1", "0.3", "0.6", "1"])
    beside.set_title("At the same diversity it is worse", fontsize=10)
    return {"curves": figure}


def median_seed(points: Rows) -> Rows:
    """Return the points of the seed with the median share, the lower of two; the first seed's where no share is known."""
    seeds = list(points.by("seed").values())
    known = sorted((found, index) for index, one in enumerate(seeds) if (found := dominated(one)) is not None)
    return seeds[known[(len(known) - 1) // 2][1]] if known else seeds[0]


def rounds(rows: Rows) -> dict[str, Figure]:
    """Draw NLL_oracle and NLL_test by round, each seed less its own maximum likelihood."""
    figure, axes = panels(
        2, caption="Each seed less its own maximum likelihood, by round: what the oracle says of samples (left) and what the "
        "model says of held-out text (right), lower is better; median and range over seeds.",
        height=3.0,
    )  # fmt: skip
    base = {one["seed"]: one for one in rows.where(kind="end", arm="mle")}
    for axis, key, title in zip(axes, ("oracle", "test"), ("samples: better", "held-out text: worse"), strict=True):
        less = [
            {**one, key: number(one, key) - number(base[one["seed"]], key)}
            for one in rows.where(kind="round")
            if one["seed"] in base
        ]
        curves(axis, Rows(less), "round", key, "arm", ROUNDS)
        level(axis, 0, "its maximum likelihood", "--")
        axis.set(title=title, xlabel="round")
    axes[0].set_ylabel("NLL less maximum likelihood's")
    axes[0].legend(fontsize=8)
    return {"rounds": figure}


def _draw(axis: Axes, points: Curve, label: str, shade: str) -> None:
    near = [p for p in points if 0.7 <= p.temperature <= 1.1]
    axis.plot(
        [p.diversity for p in near], [p.quality for p in near], ".-", color=shade, label=label, linewidth=1.0, markersize=4
    )
    one = [p for p in near if p.temperature == 1]
    axis.plot([p.diversity for p in one], [p.quality for p in one], "o", color=shade, markersize=6)


def _best(one: Curve, at: np.ndarray) -> np.ndarray:
    """Return the least quality cost at each diversity, among the pieces of a curve that pass it, as `dominance` compares."""
    pieces = [sorted((end.diversity, end.quality) for end in piece) for piece in pairwise(sorted(one))]
    return np.min([np.interp(at, *zip(*piece, strict=True), left=np.inf, right=np.inf) for piece in pieces], axis=0)
