"""What the AND-mask's success on the spirals hangs on: one setting changed at a time.

The small board of `spirals`, the AND-mask only. Each variant changes one choice that the texts and the published code make
differently or leave open: the shortcuts' scale, rescaling, regularisation, batch, initial weights, length of training.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from craik.agreement import AndMask
from craik.experiments.spirals.mechanism import run as spirals
from craik.lab import Claim, OverSeeds, Row, Rows, number
from craik.lab.drawing import COLOURS, panels
from craik.lab.limits import not_empty, one_of

REPRODUCES = "thesis appendix B.2: which of the choices left open matter"

BASE = spirals.PRESETS["quick"]
VARIANTS: dict[str, spirals.Config] = {
    "as in quick": BASE,
    "no rescaling": replace(BASE, rescale=False),
    "shortcut scale 1": replace(BASE, shortcut_scale=1.0),
    "shortcut scale 0.316": replace(BASE, shortcut_scale=0.1**0.5),
    "shortcut scale 1, L2 1e-3, batch 256": replace(BASE, shortcut_scale=1.0, l2=1e-3, batch=256, epochs=2 * BASE.epochs),
    "no L2": replace(BASE, l2=0.0),
    "L2 1e-4": replace(BASE, l2=1e-4),
    "L2 1e-3": replace(BASE, l2=1e-3),
    "batch 32": replace(BASE, batch=32, epochs=BASE.epochs // 4),
    "default init": replace(BASE, init="default"),
    "threshold 0.8": replace(BASE, threshold=0.8),
    "half as long": replace(BASE, epochs=BASE.epochs // 2),
}
"""Name to settings. "batch 32" takes the same number of steps; the published code's own settings train twice as long."""


@dataclass(frozen=True)
class Config:
    """Which variants are tried."""

    seed: int = 500
    """First seed: of the data, the initial weights and the batches."""
    variants: tuple[str, ...] = ("as in quick", "no rescaling", "shortcut scale 1", "no L2")
    """Names out of the table in the experiment's file."""

    def __post_init__(self) -> None:
        not_empty(self, "variants")
        one_of(self, tuple(VARIANTS), "variants")


PRESETS = {"quick": Config(), "paper": Config(variants=tuple(VARIANTS))}
SEEDS = {"quick": 3, "paper": 5}


def run(config: Config) -> Iterator[Row]:
    """Train with the AND-mask under each variant and yield its outcome."""
    for name in config.variants:
        settings = replace(VARIANTS[name], seed=config.seed)
        data = spirals.make_data(settings)
        model = spirals.make_model(settings)
        steps = spirals.steps_of(settings)
        *_, last = spirals.train(settings, model, AndMask(settings.threshold, settings.rescale), data.train, steps // 20)
        yield {
            "kind": "outcome",
            "variant": name,
            **last._asdict(),
            "validation_accuracy": spirals.accuracy(model, data.validation),
            "test_accuracy": spirals.accuracy(model, data.test),
            "converged": last.train_loss < spirals.CONVERGED,
        }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is, and the latest variant's accuracy."""
    done = config.variants.index(str(row["variant"])) + 1
    return done / len(config.variants), f"{row['variant']}  accuracy {number(row, 'test_accuracy'):.2f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each variant's test accuracies, hollow where the run had not converged."""
    names = [name for name in VARIANTS if rows.where(variant=name)]
    figure, (axes,) = panels(
        caption="Test accuracy by variant, one dot a seed, the median as a bar; hollow: training had not converged.",
        height=0.6 + 0.32 * len(names),
    )
    for index, name in enumerate(names):
        for converged in (True, False):
            some = rows.where(variant=name, converged=converged)["test_accuracy"]
            face = COLOURS["ours"] if converged else "white"
            axes.plot(some, [index] * len(some), "o", color=COLOURS["ours"], markerfacecolor=face, markersize=5)
        axes.plot([np.median(rows.where(variant=name)["test_accuracy"])], [index], "|", color="black", markersize=14)
    axes.axvline(0.5, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
    axes.set(yticks=range(len(names)), xlabel="test accuracy", xlim=(0.4, 1.03), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticklabels(names)
    return {"variants": figure}


CLAIMS = (
    Claim(
        id="spirals-sensitivity.weight-decay",
        text="The AND-mask needs weight decay, which suppresses units that start out tuned to shortcuts: without it, it fails.",
        source="thesis section 3.3.1: with L1 or L2 the results were most robust",
        printed=None,
        measure=OverSeeds("test_accuracy", (("variant", "no L2"),)),
        holds=lambda measured: measured.high < 0.95,
        condition="without L2, the interval of the median over seeds lies below 0.95",
    ),
    Claim(
        id="spirals-sensitivity.rescaling",
        text="The AND-mask finds the spirals without rescaling what survives it, which the thesis offers as an option.",
        source="thesis appendix B.2.3.1; the paper does not mention it",
        printed=None,
        measure=OverSeeds("test_accuracy", (("variant", "no rescaling"),)),
        holds=lambda measured: measured.value >= 0.95,
        condition="median over seeds at least 0.95",
    ),
    Claim(
        id="spirals-sensitivity.published-scale",
        text="With shortcuts of the published code's scale, 1, and all else the same, the AND-mask still finds the spirals.",
        source="published code; thesis appendix B.2 prints N(0, 0.1)",
        printed="about 1.00",
        measure=OverSeeds("test_accuracy", (("variant", "shortcut scale 1"),)),
        holds=lambda measured: measured.value >= 0.95,
        condition="median over seeds at least 0.95",
        tried="Also with the published code's batch of 256 and L2 of 1e-3, for twice as long, which does better on most seeds "
        "(see the figure); the training loss says of the others that they had not converged.",
    ),
)
