"""How both negative log-likelihoods move with the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, colour, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"seqgan": "SeqGAN", "pg-bleu": "policy gradient of BLEU"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw NLL_oracle and NLL_test by round, with maximum likelihood as a line."""
    figure, axes = panels(
        2, caption="After maximum likelihood: what the oracle says of samples (left) and what the model says of held-out text "
        "(right), lower is better; median and range over seeds.",
        height=3.0,
    )  # fmt: skip
    for axis, key, title in zip(axes, ("oracle", "test"), ("samples under the oracle", "held-out text"), strict=True):
        for index, (arm, label) in enumerate(NAMES.items()):
            some = rows.where(kind="round", arm=arm)
            if len(some):
                positions, curves = some.curves("round", key)
                band(axis, positions, curves, label, colour(index))
        base = rows.where(kind="end", arm="mle")[key]
        if base:
            axis.axhline(sorted(base)[len(base) // 2], color=COLOURS["reference"], linestyle="--", label="maximum likelihood")
        axis.set_title(title)
        axis.set_xlabel("round")
    axes[0].set_ylabel("negative log-likelihood, a token")
    axes[0].legend(fontsize=8)
    return {"rounds": figure}
