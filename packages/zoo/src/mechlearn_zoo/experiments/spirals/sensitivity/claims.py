"""What is claimed of the variants: weight decay, rescaling, the shortcuts' scale, and the setting printed as best."""

import numpy as np

from claimlab import (
    Claim,
    Greatest,
    Least,
    Measurement,
    OverSeeds,
    Paired,
    Rows,
    at_least,
    bootstrap,
    high_below,
    low_above,
)
from mechlearn_zoo.experiments.spirals.sensitivity.run import READINGS, TOGETHER


def best_reading(rows: Rows) -> str | None:
    """Return the reading of the printed best setting with the highest median validation accuracy over seeds."""
    found = {name: rows.where(variant=name)["validation_accuracy"] for name in READINGS if name != TOGETHER}
    medians = {name: float(np.median(values)) for name, values in found.items() if len(values)}
    return max(medians, key=lambda name: medians[name]) if medians else None


def _printed_best(rows: Rows) -> Measurement | None:
    name = best_reading(rows)
    return bootstrap(rows.where(variant=name)["test_accuracy"]) if name else None


def ends(variant: str) -> OverSeeds:
    """Return the measure of a variant's test accuracy at its ends."""
    return OverSeeds("test_accuracy", {"variant": variant})


CLAIMS = (
    Claim(
        id="spirals-sensitivity.weight-decay",
        kind="ours",
        text="The AND-mask needs weight decay: without it, it fails.",
        source="thesis section 3.3.1: with L1 or L2 the results were most robust",
        measure=ends("no L2"),
        condition=high_below(0.95, of="test accuracy without L2, median over seeds,"),
    ).also_stopped(Greatest, trainings="it"),
    Claim(
        id="spirals-sensitivity.rescaling-helps",
        text="Rescaling what survives the mask helps.",
        source="thesis appendix B.2.3.1: in several experiments",
        measure=Paired("test_accuracy", {"variant": "printed best"}, {"variant": "printed best, no rescaling"}),
        condition=low_above(
            0, of="test accuracy of the setting printed as best less the same without rescaling, median over seeds,"
        ).at("printed"),
        tried="Written after these rows had been recorded. With our own settings both are at 1.",
    ).also_stopped(Least),
    Claim(
        id="spirals-sensitivity.root",
        kind="hypothesis",
        text="A gentler rescaling serves as well: by the root of parameters over survivors.",
        source="thesis appendix B.2.3.1 suggests a less extreme one for large layers, without a formula; the root is ours",
        measure=ends("rescaling by the root"),
        condition=at_least(0.95, of="test accuracy, median over seeds,").at("rescaling"),
    ),
    Claim(
        id="spirals-sensitivity.signal-to-noise",
        kind="hypothesis",
        text="A mask by the ratio of signal to noise finds the spirals, too.",
        source="paper footnote 10, which suggests it without a formula; the formula and the ratio of 1 are ours",
        measure=ends("signal to noise of 1"),
        condition=at_least(0.95, of="test accuracy, median over seeds,").at("signal-to-noise"),
        tried="The ratio and the condition were written down before any run.",
    ),
    Claim(
        id="spirals-sensitivity.published-scale",
        text="With shortcuts of the published code's scale, 1, and all else the same, the AND-mask still finds the spirals.",
        source="published code; thesis appendix B.2 prints N(0, 0.1)",
        printed="about 1.00",
        measure=ends("shortcut scale 1"),
        condition=at_least(0.95, of="test accuracy with shortcuts of scale 1, median over seeds,"),
        tried="Also with the published code's batch of 256 and L2 of 1e-3, for twice as long, which does better on most seeds "
        "(see the figure); the training loss says of the others that they had not converged.",
    ),
    Claim(
        id="spirals-sensitivity.printed-best",
        text="With some reading of what the texts leave open about it (rescaling, whether 0.1 is a variance, the initial "
        "weights), the setting printed as best finds the spirals at the texts' size.",
        source="thesis appendix B.2.3.1, with figure 3.6",
        printed="about 1.00",
        measure=_printed_best,
        condition=at_least(
            0.95, of="test accuracy with the reading whose median validation accuracy is highest, median over seeds,"
        ).at("printed"),
        tried="One of the eight readings in `spirals`, on ten seeds: 0.551; after four times as many epochs (`mechlearn run "
        "spirals --preset paper --l2 1e-4 --batch 128 --epochs 372`) 1.000 on four seeds of six. Readings, seeds and "
        "conditions were written down before the others were run.",
    ),
)
