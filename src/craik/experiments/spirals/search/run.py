"""A random search of the AND-mask's settings on the spirals, selected on held-out environments.

The texts name a best setting (Adam, learning rate 1e-2, batch 128, L2 1e-4, 3 x 256 units, threshold 1) but not the initial
weights, nor whether surviving gradients were rescaled. Trial 0 is the printed setting; every further trial, numbered by
its seed, draws from table B.1's ranges. Test data is never read.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
from matplotlib.figure import Figure

from craik.agreement import AndMask
from craik.experiments.spirals.mechanism import run as spirals
from craik.lab import Claim, Row, Rows, number
from craik.lab.drawing import COLOURS, panels
from craik.lab.limits import at_least

REPRODUCES = "thesis appendix B.2, table B.1; paper table 1"

LEARNING_RATES = (1e-3, 1e-2, 1e-1)
BATCHES = (64, 128, 256)
L2 = (1e-5, 1e-4, 1e-3)
L1 = (1e-6, 1e-5, 1e-4)
OPTIMIZERS: tuple[Literal["adam", "sgd"], ...] = ("adam", "sgd")
INITS: tuple[Literal["kaiming", "default"], ...] = ("kaiming", "default")

_SETTINGS = ("optimizer", "learning_rate", "batch", "init", "l2", "l1")


@dataclass(frozen=True)
class Config:
    """What is fixed during the search. Width, depth, BatchNorm and dropout stay at the printed best setting's."""

    seed: int = 0
    """First trial; trial 0 is the printed best setting, every other one a draw."""
    size: Literal["quick", "paper"] = "quick"
    """The spirals preset whose data and number of epochs are used."""
    shortcut_scale: float = 0.1
    """Standard deviation of the shortcuts beside spirals of unit variance."""
    data_seed: int = 1000
    """Seed of data, weights and batches, the same for all trials and apart from those that results are reported on."""

    def __post_init__(self) -> None:
        at_least(self, 0, "shortcut_scale", "data_seed")


PRESETS = {"quick": Config(), "paper": Config(size="paper")}
SEEDS = {"quick": 8, "paper": 40}
CLAIMS: tuple[Claim, ...] = ()


def draw(config: Config) -> spirals.Config:
    """Return the settings of a trial, numbered by ``config.seed``."""
    base = replace(
        spirals.PRESETS[config.size],
        seed=config.data_seed,
        shortcut_scale=config.shortcut_scale,
        stop_as_printed=False,
        learning_rate=1e-2,
        batch=128,
        optimizer="adam",
        l2=1e-4,
        l1=0.0,
    )
    if config.seed == 0:
        return base
    generator = np.random.default_rng(config.seed)

    def pick(count: int) -> int:
        return int(generator.integers(count))

    # L1 and L2 are never combined: one of L1, L2 and none is drawn, then its strength (caption of table B.1).
    kind = ("l1", "l2", "none")[pick(3)]
    return replace(
        base,
        optimizer=OPTIMIZERS[pick(len(OPTIMIZERS))],
        learning_rate=LEARNING_RATES[pick(len(LEARNING_RATES))],
        batch=BATCHES[pick(len(BATCHES))],
        init=INITS[pick(len(INITS))],
        l1=L1[pick(len(L1))] if kind == "l1" else 0.0,
        l2=L2[pick(len(L2))] if kind == "l2" else 0.0,
    )


def run(config: Config) -> Iterator[Row]:
    """Train one trial's network with the AND-mask; yield its settings and what the training and held-out environments say."""
    settings = draw(config)
    data = spirals.make_data(settings)
    model = spirals.make_model(settings)
    rule = AndMask(settings.threshold, settings.rescale)
    chosen = {key: value for key, value in asdict(settings).items() if key in _SETTINGS}
    steps = spirals.steps_of(settings)
    row: Row = {"steps": steps, "step": 0, "train_loss": None, "train_accuracy": None, "validation_accuracy": 0.0}
    outcome = "finished"
    try:
        for report in spirals.train(settings, model, rule, data.train, every=max(1, steps // 20)):
            row = {"steps": steps, **report._asdict(), "validation_accuracy": spirals.accuracy(model, data.validation)}
            yield {"kind": "curve", **chosen, **row}
    except (ValueError, FloatingPointError) as error:  # a learning rate of 0.1 can blow the loss up, which `Agreement` refuses
        outcome = f"diverged: {error}"
    yield {"kind": "trial", **chosen, **row, "outcome": outcome}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a trial is, and its accuracy on held-out environments."""
    return number(row, "step") / number(row, "steps"), f"accuracy {number(row, 'validation_accuracy'):.2f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every trial's accuracy on held-out environments against each setting."""
    trials = rows.where(kind="trial")
    figure, all_axes = panels(
        3,
        2,
        caption="Every trial: accuracy on held-out environments against each setting (positions jittered). "
        "Red: the printed best setting.",
        height=4.6,
    )
    jitter = np.random.default_rng(0)
    for axes, key in zip(all_axes, _SETTINGS, strict=True):
        values = sorted({row[key] for row in trials}, key=lambda value: (isinstance(value, str), value))
        for index, value in enumerate(values):
            some = trials.where(**{key: value})
            x = index + jitter.uniform(-0.15, 0.15, len(some))
            colours = [COLOURS["baseline"] if row["seed"] == 0 else COLOURS["ours"] for row in some]
            axes.scatter(x, some["validation_accuracy"], s=16, c=colours)
        axes.set(title=key.replace("_", " "), ylim=(0.4, 1.03), xticks=range(len(values)))
        axes.set_xticklabels([f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    return {"trials": figure}
