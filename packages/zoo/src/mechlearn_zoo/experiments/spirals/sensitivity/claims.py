"""What is claimed of the variants (decay, rescaling, the shortcuts' scale, the setting printed as best) and of the needs."""

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
    at_most,
    bootstrap,
    high_below,
    low_above,
)
from mechlearn_zoo.experiments.spirals.sensitivity import needs
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


_SOURCE = "ours; issue 'rules that test for conflict'"
_SUPPRESSES = "thesis section 3.3.1: L1 or L2 suppresses units that start out tuned to shortcuts"
_TRIED = "On seeds 1000 and 1001; seed 1000 chose the number of steps, with which the AND-mask as the texts have it wins."
_LEFT = "norm of the first layer's weights on shortcuts over the drawn one, median over seeds,"
_PRESETS = ("needs", "needs-paper")


def _of(key: str, method: str) -> OverSeeds:
    return OverSeeds(key, {"kind": "final", "method": method})


def best_decoupled(rows: Rows) -> Measurement | None:
    """Return the best accuracy over AdamW's decays, median over seeds: chosen on the test set, in AdamW's favour."""
    names = [name for name, variant in needs.VARIANTS.items() if variant.decoupled]
    groups = rows.where(kind="final").by("seed").values()
    found = [max(group.where(method=name)["accuracy"][0] for name in names) for group in groups]
    return bootstrap(found) if found else None


NEEDS = (
    Claim(
        id="conflict-needs.wins",
        text="On a network of a quarter of the width, in all steps of `spirals`, the AND-mask finds the spirals.",
        source=_SOURCE,
        measure=_of("accuracy", "as the texts"),
        condition=at_least(0.95, of="test accuracy, median over seeds,").at(*_PRESETS),
        kind="control",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-needs.through-adam",
        text="L2 has to go through Adam: AdamW's decay of all weights does not stand in for it.",
        source=_SOURCE,
        measure=best_decoupled,
        condition=at_most(0.65, of="best test accuracy of AdamW's decays 1e-5, 0.01 and 1, median over seeds,").at(*_PRESETS),
        kind="ours",
        tried="On seed 1000 decays 0.1, 0.3 and 3 fail as well. With 1 the shortcuts' weights go, but the others shrink with "
        "them: in twice the steps that seed gets most of the way.",
    ).also_stopped(Greatest, trainings="each"),
    Claim(
        id="conflict-needs.goes",
        text="What L2 does through Adam is to take the shortcuts' weights away.",
        source=_SUPPRESSES,
        measure=_of("left", "as the texts"),
        condition=at_most(0.1, of=_LEFT).at(*_PRESETS),
        kind="ours",
    ),
    Claim(
        id="conflict-needs.stays",
        text="Without L2 they stay where they were drawn.",
        source=_SUPPRESSES,
        measure=_of("left", "no L2"),
        condition=at_least(0.7, of=_LEFT).at(*_PRESETS),
        kind="ours",
    ),
    Claim(
        id="conflict-needs.coordinates",
        text="It needs shortcuts in coordinates of their own: under a rotation of the inputs it fails with L2, too.",
        source=_SOURCE,
        measure=_of("accuracy", "rotated"),
        condition=at_most(0.65, of="test accuracy with rotated inputs, median over seeds,").at(*_PRESETS),
        kind="ours",
        tried=_TRIED,
    ).also_stopped(Greatest, trainings="it"),
)
