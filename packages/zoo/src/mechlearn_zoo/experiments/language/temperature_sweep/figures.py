"""Quality against diversity, a curve a generator, T = 1 marked; and how both costs move with the rounds of SeqGAN."""

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.language.temperature_sweep.measures import curve
from mechlearn_zoo.learners.plots import Axes, Figure, curves, level

NAMES = {"mle": ("maximum likelihood", COLOURS["ours"]), "seqgan": ("SeqGAN", COLOURS["baseline"])}
ROUNDS = {"seqgan": ("SeqGAN", "ours"), "pg-bleu": ("policy gradient of BLEU", "baseline")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all seeds' curves."""
    figure, axes = panels(
        2, caption="Each curve is a generator of one seed over temperatures; dots mark T = 1. Lower is better on both axes: "
        "at T = 1 the GAN's dots lie lower, but at the same NLL_test (left) or self-BLEU (right) maximum likelihood may.",
        height=3.4,
    )  # fmt: skip
    for group in rows.where(kind="point").by("seed").values():
        for arm, (label, shade) in NAMES.items():
            _draw(axes[0], [(p.diversity, p.quality, p.temperature) for p in curve(group, arm)], label, shade)
            some = group.where(arm=arm)
            points = list(zip(some["self_bleu"], some["oracle"], some["temperature"], strict=True))
            _draw(axes[1], points, label, shade)
    axes[0].set_xlabel("NLL of held-out text: less diverse to the right")
    axes[1].set_xlabel("self-BLEU: less diverse to the right")
    axes[0].set_ylabel("NLL of samples under the oracle")
    handles, labels = axes[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    axes[0].legend(list(unique.values()), list(unique), fontsize=8)
    return {"curves": figure}


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
    axes[0].set_ylabel("negative log-likelihood, a token")
    axes[0].legend(fontsize=8)
    return {"rounds": figure}


def _draw(axis: Axes, points: list[tuple[float, float, float]], label: str, shade: str) -> None:
    axis.plot([x for x, _, _ in points], [y for _, y, _ in points], color=shade, label=label, linewidth=1.0)
    one = [(x, y) for x, y, temperature in points if temperature == 1]
    axis.plot([x for x, _ in one], [y for _, y in one], "o", color=shade, markersize=5)
