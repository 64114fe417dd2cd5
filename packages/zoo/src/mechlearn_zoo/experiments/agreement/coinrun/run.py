"""Clones of an expert, trained by Adam and by Adam with the temporal AND-mask, both searched on equal budgets.

An expert's action probabilities on 64 levels are cloned; what counts is the divergence from the expert on levels that were
never seen. Every step's batch comes from one level, so the mask keeps what levels agree on over time. Both optimisers are
searched by Optuna's TPE on equal budgets, selected on held-out levels; the best trials' settings are then trained anew and
reported on test levels.

Without a recording of CoinRun (`mechlearn coinrun collect` makes one, `--recording FILE` reads it) the levels are those of a
grid world with textures, `mechlearn_zoo.experiments.agreement.coinrun.textured_grid`: real computation on a simpler game, not
the texts' data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge
from torch import Generator

from claimlab import LabError, Positive, Preset, Row, check_limits, checkpoint, number
from mechlearn_zoo.experiments.agreement.clones import divergence, evaluate, make_network
from mechlearn_zoo.experiments.agreement.coinrun.optimisers import (
    Correction,
    Method,
    Settings,
    half_square,
    make_optimizer,
    middle,
    suggest,
)
from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.levels import World
from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.recording import record
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.pictures import cloning
from mechlearn_zoo.tasks.pictures.cloning import Recording

METHODS: tuple[Method, ...] = ("adam", "and-mask")


@dataclass(frozen=True)
class Config:
    """Data, network and searches."""

    seed: int = 0
    """Of the grid world's levels, the searches and the finalists' weights and batches."""
    recording: str = ""
    """A file that mechlearn coinrun collect wrote; empty for the grid world with textures."""
    levels: Annotated[int, Ge(2), "the mask keeps what levels agree on"] = 64
    """Training levels of the grid world, two or more; a recording has its own."""
    states: Annotated[int, Ge(1)] = 64
    """States of each training level of the grid world."""
    validation: Annotated[int, Ge(1)] = 500
    """Held-out levels of the grid world, one state each, on which settings and epochs are selected."""
    test: Annotated[int, Ge(1)] = 1000
    """Test levels of the grid world, one state each."""
    network: Literal["small", "resnet-18"] = "small"
    """small: one residual block with GroupNorm, for the grid world; resnet-18: the texts', with BatchNorm."""
    batch: Annotated[int, Ge(1)] = 32
    """States of a step, all from one level."""
    epochs: Annotated[int, Ge(1)] = 18
    """Passes in which every training level has one batch; the learning rate drops by 10 at 1/2 and 3/4."""
    trials: Annotated[int, Ge(1)] = 8
    """Trials of each method's search; the first is the middle of all ranges."""
    learning_rates: tuple[Positive, ...] = (3e-4, 1e-2)
    """Least and largest learning rate of both searches; for a recording of the game 1e-5,3e-2."""
    bias_correction: Correction = "moments"
    """Of the AND-mask's Adam: none, as its algorithm prints it; moments, as Adam has it: then only the mask differs."""
    finalists: Annotated[int, Ge(1), "they are the best of the trials"] = 2
    """How many of each search's best settings are trained anew and reported; the texts show the best 10 runs."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.finalists > self.trials:
            rule = f"finalists should be between 1 and {self.trials}: they are the best of the trials"
            raise ValueError(f"{rule}. Found {self.finalists}.")
        if len(self.learning_rates) != 2 or self.learning_rates[0] >= self.learning_rates[1]:
            raise ValueError(f"learning_rates should be the least and the largest. Found {self.learning_rates}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # As many of each search's best as table B.3 has, of half as many trials again.
    "finalists": Preset(Config(seed=100, trials=12, finalists=5), seeds=6),
    "paper": Preset(
        Config(
            network="resnet-18",
            states=1000,
            validation=500,
            test=2000,
            batch=128,
            epochs=80,
            trials=1024,
            learning_rates=(1e-5, 3e-2),
            bias_correction="none",
            finalists=10,
        ),
        seeds=1,
    ),
}


class Epoch(NamedTuple):
    """KL(pi* || pi), summed over actions and averaged over states, in nats."""

    epoch: int
    train: float
    validation: float
    test: float


def load(config: Config) -> Recording:
    """Read the recording, or draw the grid world's levels.

    Raises:
        LabError: no file that the collector wrote, or one with a single training level; what else is raised reads as a fault of
            the run's own.
    """
    if config.recording:
        try:
            data = cloning.read(Path(config.recording))
        except ValueError as error:
            raise LabError(str(error)) from None
        if len(data.train.levels.unique()) < 2:
            raise LabError(
                f"A recording should have two training levels or more, as the mask keeps what they agree on. Found one in "
                f"{config.recording}. Collect more with `mechlearn coinrun collect --levels 64`."
            )
        return data
    counts = (config.levels, config.states, config.validation, config.test)
    return record(config.seed, World(), *counts)


def train(config: Config, settings: Settings, data: Recording, seed: int, measure_test: bool) -> Iterator[Epoch]:
    """Clone the expert; yield the divergences after every epoch.

    Args:
        config: network, batches and epochs.
        settings: the optimiser.
        data: the recording.
        seed: of weights and batches.
        measure_test: whether test levels are looked at; a search does not.
    """
    generator = Generator().manual_seed(seed)
    network = make_network(config.network, data.train.frames.shape[1], data.train.policy.shape[1], seed)
    optimizer = make_optimizer(settings, list(network.parameters()))
    drops = [max(1, config.epochs // 2), max(1, 3 * config.epochs // 4)]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
    places = cloning.by_level(data.train)
    saved = checkpoint(f"{settings.method} {seed}", network, optimizer, scheduler, generator)
    yield from (Epoch(*value) for value in saved.values)
    for epoch in range(saved.done + 1, config.epochs + 1):
        total = 0.0
        for level in torch.randperm(len(places), generator=generator).tolist():
            chosen = places[level][torch.randperm(len(places[level]), generator=generator)[: config.batch]]
            loss = divergence(network, data.train, chosen).mean()
            descend(optimizer, loss if settings.decoupled else loss + half_square(network, settings.weight_decay))
            total += loss.item()
        scheduler.step()
        test = evaluate(network, data.test) if measure_test else float("nan")
        found = Epoch(epoch, total / len(places), evaluate(network, data.validation), test)
        saved.keep(epoch, [*found])
        yield found
    saved.finish()


def search(config: Config, method: Method, data: Recording) -> Iterator[tuple[Settings, float]]:
    """TPE over one method's settings; yields each trial with its smallest divergence on held-out levels."""
    import optuna  # noqa: PLC0415  # takes a second, which listing the experiments should not

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=config.seed, n_startup_trials=min(10, max(1, config.trials // 3)))
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(middle(method, config.learning_rates))  # both searches start alike
    for number_ in range(config.trials):
        trial = study.ask()
        settings = suggest(method, trial, config.learning_rates, config.bias_correction)
        epochs = list(train(config, settings, data, seed=1000 * (config.seed + 1) + number_, measure_test=False))
        value = min(epoch.validation if np.isfinite(epoch.validation) else 1e3 for epoch in epochs)
        study.tell(trial, value)
        yield settings, value


def run(config: Config) -> Iterator[Row]:
    """Search both methods on equal budgets, then train each search's best settings anew and look at the test levels."""
    data = load(config)
    source = cloning.described(data.about)
    for method in METHODS:
        trials = list[tuple[Settings, float]]()
        for settings, value in search(config, method, data):
            trials.append((settings, value))
            yield {"kind": "trial", "data": source, **settings._asdict(), "trial": len(trials), "validation": value}
        trials.sort(key=lambda found: found[1])
        for rank, (settings, _) in enumerate(trials[: config.finalists], 1):
            seed = 10_000_000 + 1000 * config.seed + rank  # apart from the searches' weights
            epochs = list(train(config, settings, data, seed, measure_test=True))
            for epoch in epochs:
                yield {"kind": "curve", "data": source, "method": method, "rank": rank, **epoch._asdict()}
            chosen = min(epochs, key=lambda epoch: epoch.validation)
            last = {"selected_epoch": chosen.epoch, "test": chosen.test, "least_test": min(epoch.test for epoch in epochs)}
            gap = {"train": chosen.train, "validation": chosen.validation}
            yield {"kind": "finalist", "data": source, **settings._asdict(), "rank": rank, **gap, **last}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell which method is at which trial or finalist."""
    per_method = config.trials + config.finalists
    done = number(row, "trial") if row["kind"] == "trial" else config.trials + number(row, "rank")
    share = (METHODS.index(str(row["method"])) + done / per_method) / len(METHODS)
    return share, f"{row['method']} {row['kind']}, held-out KL {number(row, 'validation'):.3f}"
