"""Trials of seven methods on one board of the spirals, with drawn settings.

Every seed is a trial: for each method it draws settings from tables B.1 and B.2, trains, and measures accuracy on held-out
environments and on test data. The trial that is best on held-out environments counts. The AND-mask is among the methods to
show that the board can be won: where it fails too, that the others do says nothing. In `data-sets` every seed is a data set,
on which all of these trials are made.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import EarlyStopping, Limited, Preset, Row, Share, number, part
from mechlearn.nn.perceptrons import mlp
from mechlearn.penalties import irm_penalty
from mechlearn_zoo.experiments.spirals.baselines.adversarial import Adversarial
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import rule_of
from mechlearn_zoo.learners.spirals.stopping import accuracies, look, looked_at
from mechlearn_zoo.tasks.boards.spirals import SpiralsData, Split

METHODS = ("dropout", "l1", "l2", "batch-norm", "dann", "irm", "and-mask")

LEARNING_RATES = (1e-3, 1e-2, 1e-1)
BATCHES = (64, 128, 256)
L1 = (1e-6, 1e-5, 1e-4)
L2 = (1e-5, 1e-4, 1e-3)
PENALTIES = (10.0, 100.0, 1000.0)
ANNEALING = (0, 1, 2, 4, 8)
"""Tables B.1 and B.2; the learning rate 1 is in IRM's range alone."""


Numbers = Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)]
"""Numbers to draw from."""


@dataclass(frozen=True)
class Config(Limited):
    """What is fixed for all trials."""

    seed: int = 0
    """First trial: decides the drawn settings, the initial weights and the batches; with `trials`, first data set."""
    data_seed: Annotated[int, Ge(0)] = 2000
    """Seed of the data, the same for all trials and apart from those that other spirals experiments report on.

    With `trials`, that of the data set of seed 0; each further seed adds one.
    """
    trials: Annotated[int, Ge(1)] | None = None
    """Trials of each seed, all on a data set of its own: trial 0 and those after it; None: each seed is one trial."""
    environments: Annotated[int, Ge(2), "DANN and IRM compare them"] = 16
    """Number of training environments."""
    examples: Annotated[int, Ge(1)] = 1024
    """Examples in each training environment."""
    shortcut_dims: Annotated[int, Ge(0)] = 16
    """Number of shortcut inputs, 0 for none."""
    shortcut_scale: Annotated[float, Ge(0)] = 0.1
    """Standard deviation of the shortcuts beside spirals of unit variance."""
    epochs: Annotated[int, Ge(1)] = 50
    """Passes over the training data."""
    drops: tuple[Share, ...] = (0.75,)
    """Shares of the training after which the learning rate falls to a tenth; none: it stays."""
    units: Numbers = (256,)
    """Numbers of hidden units to draw from; the printed range is 256, 512."""
    layers: Numbers = (3,)
    """Numbers of hidden layers to draw from; the printed range is 3, 5."""


PAPER = Config(
    environments=32, examples=1280, shortcut_dims=32, epochs=3000 // 32, drops=(0.5, 0.75), units=(256, 512), layers=(3, 5)
)
PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # The trials of `quick`, with the same settings, weights and batches, on six data sets that are none of quick's.
    "data-sets": Preset(Config(trials=6, data_seed=2001), seeds=6),
    "paper": Preset(PAPER, seeds=40),
}


@dataclass(frozen=True)
class Trial:
    """Drawn settings of one method's trial."""

    optimizer: Literal["adam", "sgd"]
    learning_rate: float
    batch: int
    hidden: int
    layers: int
    dropout: float = 0.0
    batch_norm: bool = False
    l1: float = 0.0
    l2: float = 0.0
    penalty: float = 0.0
    annealing: int = 0


def picker(seed: int | list[int]) -> Callable[[Sequence[Any]], Any]:
    """Return what picks one of some values, each as often."""
    generator = np.random.default_rng(seed)
    return lambda values: values[int(generator.integers(len(values)))]


def draw(method: str, config: Config) -> Trial:
    """Draw a trial's settings; the regulariser that a method is named after is always on, the others off.

    The AND-mask has L2, which removes what it leaves of the shortcuts; its threshold is not drawn, as no table has a range.
    """
    pick = picker([config.seed, METHODS.index(method)])
    trial = Trial(
        optimizer=pick(("adam", "sgd")),
        learning_rate=pick((*LEARNING_RATES, 1.0) if method == "irm" else LEARNING_RATES),
        batch=min(pick(BATCHES), config.examples),
        hidden=pick(config.units),
        layers=pick(config.layers),
    )
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "dropout": lambda: {"dropout": 0.5},
        "l1": lambda: {"l1": pick(L1)},
        "l2": lambda: {"l2": pick(L2)},
        "batch-norm": lambda: {"batch_norm": True},
        "dann": lambda: {"layers": 2},
        "irm": lambda: {"batch_norm": pick((True, False)), "penalty": pick(PENALTIES), "annealing": pick(ANNEALING)},
        "and-mask": lambda: {"l2": pick(L2)},
    }
    return replace(trial, **changes[method]())


def make_model(method: str, trial: Trial, config: Config) -> nn.Module:
    """Return a method's network with the initial weights of a trial."""
    generator = torch.Generator().manual_seed(config.seed)
    inputs = 2 + config.shortcut_dims
    if method == "dann":
        return Adversarial(inputs, config.environments, trial.hidden, generator)
    return mlp(inputs, 1, generator, trial.hidden, trial.layers, batch_norm=trial.batch_norm, dropout=trial.dropout)


def unreduced(logits: Tensor, labels: Tensor) -> Tensor:
    """Return each example's cross-entropy."""
    return cross_entropy(logits, labels, reduction="none")


def loss_of(method: str, model: nn.Module, batch: Split, trial: Trial, step: int) -> tuple[Tensor, Tensor]:
    """Return what is minimised at a step, and the logits."""
    logits = model(batch.x)[:, 0]
    loss = cross_entropy(logits, batch.y)
    if isinstance(model, Adversarial):
        loss = loss + model.domain_loss(batch.x, batch.environments)
    if method == "irm":
        # As the authors' code: a small penalty first, then the weight, with the whole loss divided by it.
        weight = trial.penalty if step > trial.annealing else 1.0
        loss = (loss + weight * irm_penalty(logits, batch.y, batch.environments, unreduced)) / max(1.0, weight)
    return loss, logits


def training_of(trial: Trial, config: Config) -> training.Training:
    """Return how a trial trains; threshold and rescaling of the AND-mask are those of `spirals`."""
    return replace(
        training.TRAININGS["quick"],
        seed=config.seed,
        environments=config.environments,
        examples=config.examples,
        batch=trial.batch,
        epochs=config.epochs,
        drops=config.drops,
        optimizer=trial.optimizer,
        learning_rate=trial.learning_rate,
        l1=trial.l1,
        l2=trial.l2,
    )


def train(
    method: str, model: nn.Module, trial: Trial, config: Config, data: SpiralsData, stopping: EarlyStopping
) -> tuple[float, float]:
    """Train a model in place, with looks at it; return the mean loss and accuracy of the last epoch."""
    settings = training_of(trial, config)
    steps = training.steps_of(settings)
    if method == "and-mask":
        reports = training.train(settings, model, rule_of("and-mask", settings), data.train, every=steps // config.epochs)
        *_, report = looked_at(reports, steps, stopping, model, data)
        return report.train_loss, report.train_accuracy
    optimizer = training.make_optimizer(settings, model)
    scheduler = training.make_scheduler(settings, optimizer)
    last: list[tuple[float, float]] = []
    for step, batch in enumerate(training.Batches(settings, data.train), start=1):
        optimizer.zero_grad()
        loss, logits = loss_of(method, model, batch, trial, step)
        if not torch.isfinite(loss):
            raise FloatingPointError(f"the loss is {loss.item()} at step {step}")
        loss.backward()
        if trial.l1 > 0:
            training.add_l1(model, trial.l1)
        optimizer.step()
        scheduler.step()
        look(stopping, step / steps, model, data)
        if step > steps - steps // config.epochs:
            last.append((float(cross_entropy(logits.detach(), batch.y)), training.accuracy_of(logits.detach(), batch.y)))
    train_loss, train_accuracy = np.mean(last, axis=0).tolist()
    return train_loss, train_accuracy


def board(config: Config) -> SpiralsData:
    """Return the data, the same for all trials."""
    settings = replace(
        training.TRAININGS["quick"],
        seed=config.data_seed,
        environments=config.environments,
        examples=config.examples,
        batch=1,
        shortcut_dims=config.shortcut_dims,
        shortcut_scale=config.shortcut_scale,
    )
    return training.make_data(settings)


def tried(method: str, trial: Trial, config: Config, data: SpiralsData) -> Row:
    """Train one method at some settings; return these, and accuracies on held-out environments and test data.

    Both at the end and, as `stopped_...`, where accuracy on held-out environments was highest of all looks.
    """
    model = make_model(method, trial, config)
    row: Row = {"method": method, **asdict(trial), "outcome": "finished"}
    stopping = EarlyStopping()
    try:
        row["train_loss"], row["train_accuracy"] = train(method, model, trial, config, data, stopping)
    except (ValueError, FloatingPointError) as error:  # `Agreement` refuses a loss that is not finite with the former
        row |= {"outcome": f"diverged: {error}", "train_loss": None, "train_accuracy": None}
    found = accuracies(model, data)
    finished = row["outcome"] == "finished"
    row["validation_accuracy"] = found["validation_accuracy"] if finished else 0.0
    row["test_accuracy"] = found["test_accuracy"] if finished else None
    return row | stopping.row


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method: the drawn settings, and accuracies on held-out environments and test data.

    With `trials`, for each of these and each method, on the seed's own data set.
    """
    if config.trials is None:
        data = board(config)
        for method in METHODS:
            yield tried(method, draw(method, config), config, data)
        return
    data = board(replace(config, data_seed=config.data_seed + config.seed))
    for trial in range(config.trials):
        for method in METHODS:
            yield from part(f"trial {trial}, {method}", one_of(trial, method, config, data))


def one_of(trial: int, method: str, config: Config, data: SpiralsData) -> Iterator[Row]:
    """Yield the row of one method in one of a data set's trials."""
    own = replace(config, seed=trial)
    yield {"trial": trial, **tried(method, draw(method, own), own, data)}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    method = str(row["method"])
    share = (METHODS.index(method) + 1) / len(METHODS)
    if config.trials is None:
        return share, method
    return (number(row, "trial") + share) / config.trials, f"trial {row['trial']}, {method}"
