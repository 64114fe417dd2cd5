"""The board of `coloured-digits`, by rules that test whether environments differ.

The colour goes with the label 90 % and 80 % of the time: both environments pull it the same way, one harder. A rule of signs
has nothing to see there; a test of differences has, if some five hundred examples of each are enough to establish them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge
from torch import Generator, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from craik.experiments.conflict.methods import METHODS, Method, after_step, agreement_of
from craik.lab import Preset, Row, check_limits, computed
from craik.nn.perceptrons import mlp
from craik.tasks.pictures.coloured_digits import ColouredDigits, Split, coloured_digits

COMPARED = ("mean", "and-mask", "qualitative-decay", "homogeneous-decay", "heterogeneous-decay", "input-decay")
"""Names of `craik.experiments.conflict.methods.METHODS`."""


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


def train(method: Method, split: Split, trial: Trial, config: Config) -> nn.Module:
    """Return a network trained by one rule, with Adam at a trial's learning rate and L2."""
    model = mlp(128, 1, Generator().manual_seed(config.seed), config.hidden, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.learning_rate, weight_decay=trial.weight_decay)
    agreement = agreement_of(model, method)
    for _ in range(config.steps):
        optimizer.zero_grad()
        losses = binary_cross_entropy_with_logits(model(split.x.flatten(1))[:, 0], split.y, reduction="none")
        record = agreement.backward(losses, split.environments)
        optimizer.step()
        after_step(model, record, method, trial.learning_rate)
    return model


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method and trial: its settings, what each selection rule would look at, and test accuracy."""
    data = coloured_digits(config.seed)
    for method in COMPARED:
        for index in range(config.trials):
            trial = draw(config.seed, index)
            ends = computed(f"{method} {index}", tried, METHODS[method], data, trial, config)
            yield {"method": method, "trial": index, **trial._asdict(), **ends}


def tried(method: Method, data: ColouredDigits, trial: Trial, config: Config) -> Row:
    """Return what each selection rule would look at after a trial, and test accuracy."""
    model = train(method, data.train, trial, config)
    return {
        "training-domain": accuracy(model, data.held_out),
        "oracle": accuracy(model, data.oracle),
        "test_accuracy": accuracy(model, data.test),
    }
