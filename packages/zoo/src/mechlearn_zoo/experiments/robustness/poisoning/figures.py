"""Errors by poison and by flipped labels, and what stand-ins' poison does by alignment."""

import numpy as np

from claimlab import Rows, colour, panels
from mechlearn_zoo.experiments.robustness.poisoning.measures import SHARE
from mechlearn_zoo.experiments.robustness.poisoning.run import FAMILIES
from mechlearn_zoo.learners.plots import Figure, columns, level


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both panels."""
    figure, axes = panels(
        2, caption=f"Left: test error with {SHARE:.0%} of poison, bars: mean over seeds, points: seeds. Stand-ins of all kinds "
        "saw other data; poison starts from the flipped labels. Right: rise of a target's test loss by a stand-in's poison, as "
        "a share of its own poison's, by alignment of their implicit gradients; a point a pair and seed.", height=3.4,
    )  # fmt: skip
    first = rows.where(pair=rows[0]["pair"])
    learners = [(family, complexity) for family in FAMILIES for complexity in "HL"]
    own = [first.where(kind="own", share=SHARE, family=family, complexity=one) for family, one in learners]
    pairs = first.where(kind="pair")
    by_others = [
        [float(np.mean(some["error"])) for some in pairs.where(target=family, target_complexity=one).by("seed").values()]
        for family, one in learners
    ]
    errors = {
        ("clean", "reference"): [some["clean"] for some in own],
        ("flipped labels", "baseline"): [some["flipped"] for some in own],
        ("poison, from stand-ins", colour(2)): by_others,
        ("poison, its own", "ours"): [some["poisoned"] for some in own],
    }
    names = [f"{family}\n{'weak' if one == 'H' else 'strong'}" for family, one in learners]
    columns(axes[0], names, errors, bars=True, fontsize=8)
    axes[0].set(xlabel="learner and regularisation", ylabel="test error")
    axes[0].set_ylim(0, 1.35 * axes[0].get_ylim()[1])
    axes[0].legend(fontsize=8, ncols=2, loc="upper left")
    for index, family in enumerate(FAMILIES):
        some = pairs.where(target=family)
        axes[1].plot(some["alignment"], some["ratio"], ".", color=colour(index), alpha=0.5, markersize=3, label=family)
    level(axes[1], 1.0)
    axes[1].set(xlabel="alignment of implicit gradients", ylabel="rise of loss, share of its own poison's")
    axes[1].legend(title="target", fontsize=8, title_fontsize=8)
    return {"poisoning": figure}
