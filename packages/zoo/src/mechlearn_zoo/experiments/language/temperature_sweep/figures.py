"""Quality against diversity, a curve a generator, T = 1 marked; and sentences by temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.language.temperature_sweep.claims import curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"mle": ("maximum likelihood", COLOURS["ours"]), "seqgan": ("SeqGAN", COLOURS["baseline"])}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all seeds' curves."""
    figure, axes = panels(
        2, caption="Each curve is a generator of one seed over temperatures; dots mark T = 1. Lower is better on both axes: "
        "at T = 1 the GAN's dots lie lower, but at the same NLL_test (left) or self-BLEU (right) maximum likelihood may.",
        height=3.4,
    )  # fmt: skip
    for group in rows.where(kind="point").by("seed").values():
        for arm, (label, colour) in NAMES.items():
            _draw(axes[0], [(p.diversity, p.quality, p.temperature) for p in curve(group, arm)], label, colour)
            some = group.where(arm=arm)
            points = list(zip(some["self_bleu"], some["oracle"], some["temperature"], strict=True))
            _draw(axes[1], points, label, colour)
    axes[0].set_xlabel("NLL of held-out text: less diverse to the right")
    axes[1].set_xlabel("self-BLEU: less diverse to the right")
    axes[0].set_ylabel("NLL of samples under the oracle")
    handles, labels = axes[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    axes[0].legend(list(unique.values()), list(unique), fontsize=8)
    return {"curves": figure}


def _draw(axis: Axes, points: list[tuple[float, float, float]], label: str, colour: str) -> None:
    axis.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, label=label, linewidth=1.0)
    one = [(x, y) for x, y, temperature in points if temperature == 1]
    axis.plot([x for x, _ in one], [y for _, y in one], "o", color=colour, markersize=5)
