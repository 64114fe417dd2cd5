"""The AND-mask on the small board of `spirals`, under variants of its settings, and one mask by another measure.

Each variant changes one choice that the texts and the published code make differently or leave open: the shortcuts' scale,
rescaling, regularisation, batch, initial weights, length of training. And, at the texts' size, the setting that they print as
best, under readings of what they leave open about it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

from annotated_types import MinLen

from claimlab import EarlyStopping, Preset, Row, Rows, check_limits, checkpoint, number
from mechlearn.agreement import AndMask, Rule, SignalToNoiseMask
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import rule_of
from mechlearn_zoo.learners.spirals.stopping import accuracies

BASE = training.TRAININGS["quick"]
VARIANTS: dict[str, training.Training] = {
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

PRINTED = replace(training.TRAININGS["paper"], batch=128, l2=1e-4)
"""Thesis appendix B.2.3.1's best setting, read as `spirals` reads it: 128 examples of each environment."""


def readings() -> dict[str, training.Training]:
    """Return what the printed best setting may mean: with rescaling or not, the shortcuts' 0.1, and the initial weights."""
    found: dict[str, training.Training] = {}
    for rescale, variance, plain in product((True, False), (False, True), (False, True)):
        words = ("no rescaling", not rescale), ("0.1 a variance", variance), ("default init", plain)
        found[", ".join(["printed best", *(word for word, said in words if said)])] = replace(
            PRINTED, rescale=rescale, shortcut_scale=0.1**0.5 if variance else 0.1, init="default" if plain else "kaiming"
        )
    return found


TOGETHER = "printed best, 128 of all"
"""The printed batch as one of all environments together, 4 examples of each; as many epochs, so 32 times as many steps."""
READINGS = readings() | {TOGETHER: replace(PRINTED, batch=PRINTED.batch // PRINTED.environments)}

ROOT = "rescaling by the root"
"""As in quick, but what survives is multiplied by the root of parameters / survivors: gentler on large layers."""
NOISE = "signal to noise of 1"
"""As in quick, but a component survives where its mean is as large as its spread over the environments."""

NAMES = (*VARIANTS, ROOT, NOISE, *READINGS)


def rule_of_variant(name: str, settings: training.Training) -> Rule:
    """Return a variant's rule."""
    if name == NOISE:
        return SignalToNoiseMask(1.0, rescale=settings.rescale)
    return AndMask(settings.threshold, "root") if name == ROOT else rule_of("and-mask", settings)


@dataclass(frozen=True)
class Config:
    """Which variants are tried."""

    seed: int = 500
    """First seed: of the data, the initial weights and the batches."""
    variants: Annotated[tuple[str, ...], MinLen(1)] = ("as in quick", "no rescaling", "shortcut scale 1", "no L2")
    """Names out of the table in the experiment's file."""

    def __post_init__(self) -> None:
        check_limits(self)
        for name in self.variants:
            if name not in NAMES:
                known = ", ".join(repr(variant) for variant in NAMES)
                raise ValueError(f"variants should be among {known}. Found {name!r}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "rescaling": Preset(Config(seed=600, variants=("as in quick", "no rescaling", ROOT)), seeds=6),
    "signal-to-noise": Preset(Config(seed=700, variants=("as in quick", NOISE)), seeds=6),
    "printed": Preset(Config(seed=800, variants=tuple(READINGS)), seeds=6),
    "paper": Preset(Config(variants=tuple(VARIANTS)), seeds=6),
}


def run(config: Config) -> Iterator[Row]:
    """Train with the AND-mask under each variant and yield its outcome."""
    for name in config.variants:
        saved = checkpoint(name)
        if not saved.finished:
            settings = replace((VARIANTS | READINGS).get(name, BASE), seed=config.seed)
            data, model = training.make_data(settings), training.make_model(settings)
            every, rule = training.steps_of(settings) // 20, rule_of_variant(name, settings)
            for report in training.train(settings, model, rule, data.train, every, saved):
                saved.keep(report.step, report._asdict() | accuracies(model, data))
            looks = Rows(saved.values)
            last = looks[-1]
            converged = number(last, "train_loss") < training.CONVERGED
            saved.finish({"kind": "outcome", "variant": name, **last, "converged": converged, **stopped(looks)})
        yield saved.values[-1]


def stopped(looks: Rows) -> Row:
    """Return accuracies where that on held-out environments was highest, of what was kept at each look at a training."""
    stopping, steps = EarlyStopping(len(looks)), number(looks[-1], "step")
    for one in looks:
        share = number(one, "step") / steps
        found: Row = {key: one[key] for key in ("validation_accuracy", "test_accuracy")}
        stopping.look(share, number(one, "validation_accuracy"), found)
    return stopping.row
