"""What `mechlearn sweep coinrun` draws: the same ranges as the experiment's own searches, for both optimisers."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

from annotated_types import Ge

from claimlab import Choice, LogUniform, Objective, Positive, Ranges, Row, Rows, Share, Single, Uniform, number
from mechlearn_zoo.experiments.agreement.coinrun.optimisers import BETA1, BETA3, THRESHOLD, WEIGHT_DECAY, Method, Settings
from mechlearn_zoo.experiments.agreement.coinrun.run import METHODS, PRESETS, Config, load, train


@dataclass(frozen=True)
class Tried(Config):
    """One optimiser at settings of its own; `trials`, `finalists` and `learning_rates` are not read."""

    method: Method = "and-mask"
    """The optimiser."""
    lr: Positive = 1e-3
    """Its learning rate."""
    beta1: Share = 0.5
    """Decay of the first moment."""
    weight_decay: Annotated[float, Ge(0)] = 1e-3
    """Of the weights."""
    decoupled: bool = True
    """Whether it is an update of its own, after the mask; else L2 in the gradient."""
    beta3: Share = 0.7
    """Decay of the mask's average of signs; not read by Adam."""
    threshold: Share = 0.3
    """The mask's; not read by Adam."""


def run_one(config: Tried) -> Iterator[Row]:
    """Yield each epoch's divergences, and of the epoch that held-out levels select that on test levels."""
    settings = Settings(config.method, config.lr, config.beta1, config.weight_decay, config.decoupled)
    if config.method == "and-mask":
        settings = settings._replace(beta3=config.beta3, threshold=config.threshold, bias_correction=config.bias_correction)
    best: Row = {}
    for epoch in train(config, settings, load(config), config.seed, measure_test=True):
        row: Row = {"method": config.method, "epoch": epoch.epoch, "train": epoch.train, "validation": epoch.validation}
        yield {"kind": "curve", **row}
        if not best or epoch.validation < number(best, "validation"):
            best = {**row, "test": epoch.test}
    yield {"kind": "best", **best}


def _least(rows: Rows) -> float | None:
    return min((number(row, "validation") for row in rows if row.get("validation") is not None), default=None)


def _ranges(learning_rates: tuple[float, ...]) -> Ranges:
    return Ranges(
        {
            "lr": LogUniform(*learning_rates),
            "beta1": Uniform(*BETA1),
            "weight_decay": LogUniform(*WEIGHT_DECAY),
            "decoupled": Choice(True, False),
            "beta3": Uniform(*BETA3),
            "threshold": Uniform(*THRESHOLD),
        },
        Objective(("validation",), _least, maximise=False),
        {method: {"method": method} | ({"beta3": 0.0, "threshold": 0.0} if method == "adam" else {}) for method in METHODS},
        Single(lambda config: Tried(**asdict(config)), run_one),
    )


RANGES = {name: _ranges(preset.config.learning_rates) for name, preset in PRESETS.items()}
