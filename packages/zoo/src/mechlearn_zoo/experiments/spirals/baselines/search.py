"""Trials of the AND-mask with drawn settings.

The texts name a best setting (Adam, learning rate 1e-2, batch 128, L2 1e-4, 3 x 256 units, threshold 1) but not the initial
weights, nor whether surviving gradients were rescaled. Trial 0 is the printed setting; every further trial, numbered by
its seed, draws from table B.1's ranges. Test data is never read.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge

from claimlab import Limited, Preset, Row, number
from mechlearn_zoo.experiments.spirals.baselines.run import BATCHES, L1, L2, LEARNING_RATES, picker
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import rule_of

OPTIMIZERS: tuple[Literal["adam", "sgd"], ...] = ("adam", "sgd")
INITS: tuple[Literal["kaiming", "default"], ...] = ("kaiming", "default")

DRAWN = ("optimizer", "learning_rate", "batch", "init", "l2", "l1")
"""What differs between trials."""


@dataclass(frozen=True)
class Config(Limited):
    """What is fixed during the search. Width, depth, BatchNorm and dropout stay at the printed best setting's."""

    seed: int = 0
    """First trial; trial 0 is the printed best setting, every other one a draw."""
    size: training.Scale = "quick"
    """The spirals preset whose data and number of epochs are used."""
    shortcut_scale: Annotated[float, Ge(0)] = 0.1
    """Standard deviation of the shortcuts beside spirals of unit variance."""
    data_seed: Annotated[int, Ge(0)] = 1000
    """Seed of data, weights and batches, the same for all trials and apart from those that results are reported on."""


PRESETS = {"search": Preset(Config(), seeds=8), "search-paper": Preset(Config(size="paper"), seeds=40)}


def draw(config: Config) -> training.Training:
    """Return the settings of a trial, numbered by ``config.seed``."""
    base = replace(
        training.TRAININGS[config.size],
        seed=config.data_seed,
        shortcut_scale=config.shortcut_scale,
        learning_rate=1e-2,
        batch=128,
        optimizer="adam",
        l2=1e-4,
        l1=0.0,
    )
    if config.seed == 0:
        return base
    pick = picker(config.seed)
    # L1 and L2 are never combined: one of L1, L2 and none is drawn, then its strength (caption of table B.1).
    kind = pick(("l1", "l2", "none"))
    return replace(
        base,
        optimizer=pick(OPTIMIZERS),
        learning_rate=pick(LEARNING_RATES),
        batch=pick(BATCHES),
        init=pick(INITS),
        l1=pick(L1) if kind == "l1" else 0.0,
        l2=pick(L2) if kind == "l2" else 0.0,
    )


def run(config: Config) -> Iterator[Row]:
    """Train one trial's network with the AND-mask; yield its settings and what the training and held-out environments say."""
    settings = draw(config)
    data, model = training.make_data(settings), training.make_model(settings)
    chosen = {key: value for key, value in asdict(settings).items() if key in DRAWN}
    steps = training.steps_of(settings)
    row: Row = {"steps": steps, "step": 0, "train_loss": None, "train_accuracy": None, "validation_accuracy": 0.0}
    outcome = "finished"
    try:
        for report in training.train(settings, model, rule_of("and-mask", settings), data.train, every=max(1, steps // 20)):
            row = {"steps": steps, **report._asdict(), "validation_accuracy": training.accuracy(model, data.validation)}
            yield {"kind": "curve", **chosen, **row}
    except (ValueError, FloatingPointError) as error:  # a learning rate of 0.1 can blow the loss up, which `Agreement` refuses
        outcome = f"diverged: {error}"
    yield {"kind": "trial", **chosen, **row, "outcome": outcome}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a trial is, and its accuracy on held-out environments."""
    return number(row, "step") / number(row, "steps"), f"accuracy {number(row, 'validation_accuracy'):.2f}"
