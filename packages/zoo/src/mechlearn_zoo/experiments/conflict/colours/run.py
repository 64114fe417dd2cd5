"""The board of `coloured-digits`, by rules that test whether environments differ.

The colour goes with the label 90 % and 80 % of the time: both environments pull it the same way, one harder. A rule of signs
has nothing to see there; a test of differences has, if some five hundred examples of each are enough to establish them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge
from torch import Generator, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from claimlab import EarlyStopping, Preset, Row, check_limits, computed
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.conflict.methods import METHODS, Method, after_step, agreement_of
from mechlearn_zoo.tasks.pictures.coloured_digits import ColouredDigits, Split, coloured_digits

COMPARED = ("mean", "and-mask", "qualitative-decay", "homogeneous-decay", "heterogeneous-decay", "input-decay")
"""Names of `mechlearn_zoo.experiments.conflict.methods.METHODS`."""

SELECTIONS = ("training-domain", "oracle")
"""Rules that select a trial, each of which also stops it where its own examples are best."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the data, the drawn settings and the initial weights."""
    trials: Annotated[int, Ge(1)] = 6
    """Settings drawn for each method: the budget, equal for all."""
    steps: Annotated[int, Ge(1)] = 150
    """Steps of a training run, each on all training examples."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of the network's layers."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(trials=20, steps=400, hidden=256), seeds=6)}


class Trial(NamedTuple):
    """Drawn settings: Adam's learning rate and L2."""

    learning_rate: float
    weight_decay: float


def draw(seed: int, trial: int) -> Trial:
    """Draw a trial's settings, the same for every rule: 10^[-3, -1.5] and 10^[-5, -1], as `coloured-digits` does."""
    generator = np.random.default_rng([seed, trial])
    return Trial(*(10 ** float(generator.uniform(*limits)) for limits in ((-3, -1.5), (-5, -1))))


def accuracy(model: nn.Module, split: Split) -> float:
    """Return a model's accuracy."""
    with torch.no_grad():
        return float(((model(split.x.flatten(1))[:, 0] > 0) == (split.y > 0.5)).float().mean())


def seen_by(selection: str, data: ColouredDigits) -> Split:
    """Return the examples that a rule selects on."""
    return data.held_out if selection == "training-domain" else data.oracle


def look(stopping: Mapping[str, EarlyStopping], share: float, model: nn.Module, data: ColouredDigits) -> None:
    """Measure a network on each rule's examples and on the test's, if looks are due after a share of its training."""
    for selection, one in stopping.items():
        if one.due(share):
            found = accuracy(model, seen_by(selection, data))
            one.look(share, found, {"selection": found, "test_accuracy": accuracy(model, data.test)})


def train(method: Method, data: ColouredDigits, trial: Trial, config: Config) -> tuple[nn.Module, Row]:
    """Return a network trained by a rule, with Adam at a trial's learning rate and L2, and what it had where it is stopped."""
    split = data.train
    model = mlp(128, 1, Generator().manual_seed(config.seed), config.hidden, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.learning_rate, weight_decay=trial.weight_decay)
    agreement, stopping = agreement_of(model, method), {selection: EarlyStopping() for selection in SELECTIONS}
    for step in range(1, config.steps + 1):
        optimizer.zero_grad()
        losses = binary_cross_entropy_with_logits(model(split.x.flatten(1))[:, 0], split.y, reduction="none")
        record = agreement.backward(losses, split.environments)
        optimizer.step()
        after_step(model, record, method, trial.learning_rate)
        look(stopping, step / config.steps, model, data)
    return model, {f"{name}_{rule}": value for rule, one in stopping.items() for name, value in one.row.items()}


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method and trial: its settings, what each selection rule would look at, and test accuracy."""
    data = coloured_digits(config.seed)
    for method in COMPARED:
        for index in range(config.trials):
            trial = draw(config.seed, index)
            ends = computed(f"{method} {index}", tried, METHODS[method], data, trial, config)
            yield {"method": method, "trial": index, **trial._asdict(), **ends}


def tried(method: Method, data: ColouredDigits, trial: Trial, config: Config) -> Row:
    """Return what each selection rule would look at after a trial, and test accuracy; then both where each would stop it."""
    model, stopped = train(method, data, trial, config)
    looked_at = {selection: accuracy(model, seen_by(selection, data)) for selection in SELECTIONS}
    return {**looked_at, "test_accuracy": accuracy(model, data.test), **stopped}
