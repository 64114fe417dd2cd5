"""Errors by share of poison, and what stand-ins' poison does by alignment."""

import numpy as np

from claimlab import Rows, colour, panels
from mechlearn_zoo.experiments.robustness.poisoning.run import FAMILIES
from mechlearn_zoo.learners.plots import Figure, level


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both panels."""
    figure, axes = panels(
        2, caption="Left: test error against the share of poison, mean over seeds; full lines weakly, dashed strongly "
        "regularised; thin: "
        "flipped labels where they stood. Right: rise of a target's test loss by a stand-in's poison, as a share of its own "
        "poison's, against the alignment of their implicit gradients; a point a pair and seed.", height=3.2,
    )  # fmt: skip
    first = rows.where(pair=rows[0]["pair"])
    own = first.where(kind="own")
    shares = sorted(set(own["share"]))
    for index, family in enumerate(FAMILIES):
        for complexity, style in (("H", "-"), ("L", "--")):
            some = own.where(family=family, complexity=complexity)
            clean = float(np.mean(some["clean"]))
            for key, width in (("poisoned", 1.8), ("flipped", 0.7)):
                means = [float(np.mean(some.where(share=share)[key])) for share in shares]
                label = family if key == "poisoned" and complexity == "H" else None
                axes[0].plot([0, *shares], [clean, *means], style, color=colour(index), linewidth=width, label=label)
    axes[0].set(xlabel="share of poison", ylabel="test error", ylim=(0, None))
    axes[0].legend()
    pairs = first.where(kind="pair")
    for index, family in enumerate(FAMILIES):
        some = pairs.where(target=family)
        axes[1].plot(some["alignment"], some["ratio"], ".", color=colour(index), alpha=0.7)
    level(axes[1], 1.0)
    axes[1].set(xlabel="alignment (colour: target)", ylabel="rise of loss, share")
    return {"poisoning": figure}
