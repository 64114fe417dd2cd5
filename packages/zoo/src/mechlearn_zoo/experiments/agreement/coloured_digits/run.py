"""Networks trained by every method on the same draws of settings, and what each selection rule would look at.

The colour goes with the label in both training environments, 90 % and 80 % of the time, and against it in the test
environment. Both environments' gradients agree that the colour helps; they disagree on how much. So this is no home game for
a mask of signs, and which settings are selected matters as much as the method.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import (
    Choice,
    EarlyStopping,
    LogUniform,
    Objective,
    Positive,
    Preset,
    Ranges,
    Row,
    Share,
    Single,
    check_limits,
    number,
)
from mechlearn.agreement import Agreement
from mechlearn_zoo.experiments.agreement.coloured_digits.methods import (
    METHODS,
    PENALISED,
    RIVALS,
    Flattened,
    Network,
    Trial,
    backward,
    draw,
    plain_loss,
    rule_of,
    weight_of,
)
from mechlearn_zoo.tasks.pictures.coloured_digits import ColouredDigits, Split, coloured_digits


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    seed: int = 0
    """First seed: of the data, the drawn settings and the initial weights."""
    trials: Annotated[int, Ge(1)] = 12
    """Settings drawn for each method: the budget, equal for all."""
    steps: Annotated[int, Ge(1)] = 150
    """Steps of a training run, each on all training examples."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of the network's layers."""
    agreement: tuple[Share, ...] = (0.9, 0.8)
    """How often the colour agrees with the label in each training environment."""
    test_agreement: Share = 0.1
    """The same in the test environment."""
    methods: Annotated[tuple[str, ...], MinLen(1)] = METHODS
    """What to compare: names of the README's table."""

    def __post_init__(self) -> None:
        check_limits(self)
        if len(self.agreement) < 2:
            raise ValueError(f"agreement should have two environments or more to compare. Found {self.agreement}. Give more.")
        known = dict.fromkeys((*METHODS, *RIVALS))
        if unknown := [method for method in self.methods if method not in known]:
            raise ValueError(f"methods should be among {', '.join(known)}. Found {unknown[0]!r}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "rivals": Preset(Config(seed=100, methods=RIVALS), seeds=6),
    "paper": Preset(Config(trials=20, steps=400, hidden=256), seeds=5),
}


STOPPING = ("training-domain", "oracle")
"""Selection rules that also stop a trial, where their own examples are best.

Leaving one out does not: its examples belong to trainings on the other environments, and tell nothing of a time in this one.
"""


def train(
    method: str, split: Split, trial: Trial, config: Config, look: Callable[[float, nn.Module], None] | None = None
) -> nn.Module:
    """Return a trained network, at which something may look after each step, given the share of the steps that are done.

    Under a penalty the whole loss, L2 included, is divided by the penalty's weight, as in IRM's published code, so that a
    strong penalty does not raise the learning rate. L2 is Adam's, so it is divided there.
    """
    generator = Generator().manual_seed(config.seed)
    environments = 1 + int(split.environments.max())
    model = Flattened(128, environments, config.hidden, generator) if method == "dann" else Network(config.hidden, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.learning_rate, weight_decay=trial.weight_decay)
    alone = len(split.environments.unique()) == 1  # nothing to compare with: every method is plain training then
    with Agreement(model, rule_of(method, trial)) as agreement:
        for step in range(config.steps):
            optimizer.zero_grad()
            if alone:
                plain_loss(model, split).mean().backward()
            else:
                weight = weight_of(method, trial, step < trial.annealing * config.steps)
                backward(method, model, split, weight, agreement, generator)
                optimizer.param_groups[0]["weight_decay"] = trial.weight_decay / (weight if method in PENALISED else 1.0)
            optimizer.step()
            if look is not None:
                look((step + 1) / config.steps, model)
    return model


def seen_by(selection: str, data: ColouredDigits) -> Split:
    """Return the examples that a rule selects on, of those that stop trials."""
    return data.held_out if selection == "training-domain" else data.oracle


def looking(stopping: Mapping[str, EarlyStopping], data: ColouredDigits) -> Callable[[float, nn.Module], None]:
    """Return what measures a network on each rule's examples and on the test's, when a look is due."""

    def look(share: float, model: nn.Module) -> None:
        for selection, one in stopping.items():
            if one.due(share):
                found = accuracy(model, seen_by(selection, data))
                one.look(share, found, {"selection": found, "test_accuracy": accuracy(model, data.test)})

    return look


def accuracy(model: nn.Module, split: Split) -> float:
    """Return a model's accuracy."""
    with torch.no_grad():
        return float(((model(split.x)[:, 0] > 0) == (split.y > 0.5)).float().mean())


def of(split: Split, chosen: Tensor) -> Split:
    """Return the chosen examples."""
    return Split(split.x[chosen], split.y[chosen], split.environments[chosen])


def leave_one_out(method: str, data: ColouredDigits, trial: Trial, config: Config) -> float:
    """Return the mean accuracy on a training environment that was left out."""
    scores: list[float] = []
    for environment in range(len(config.agreement)):
        model = train(method, of(data.train, data.train.environments != environment), trial, config)
        scores.append(accuracy(model, of(data.held_out, data.held_out.environments == environment)))
    return float(np.mean(scores))


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method and trial: its settings, what each selection rule would look at, and test accuracy.

    Then the last two where a rule stops the trial.
    """
    data = coloured_digits(config.seed, config.agreement, config.test_agreement)
    left_out: dict[tuple[str, int], float] = {}
    for method in config.methods:
        for index in range(config.trials):
            trial = draw(config.seed, index)
            stopping = {selection: EarlyStopping() for selection in STOPPING}
            model = train(method, data.train, trial, config, looking(stopping, data))
            # With one environment left all methods are plain training, DANN with a network of its own: done once for all.
            plain = method if len(config.agreement) > 2 or method == "dann" else "erm"
            if (plain, index) not in left_out:
                left_out[plain, index] = leave_one_out(plain, data, trial, config)
            yield {
                "method": method,
                "trial": index,
                **asdict(trial),
                "train_accuracy": accuracy(model, data.train),
                "training-domain": accuracy(model, data.held_out),
                "leave-one-out": left_out[plain, index],
                "oracle": accuracy(model, data.oracle),
                "test_accuracy": accuracy(model, data.test),
                **{f"{name}_{rule}": value for rule, one in stopping.items() for name, value in one.row.items()},
            }


@dataclass(frozen=True)
class Tried(Config):
    """One method's training at settings of its own, for sweeps; `trials` is not read."""

    method: str = "erm"
    """What is trained."""
    learning_rate: Positive = 1e-2
    """Adam's."""
    weight_decay: Annotated[float, Ge(0)] = 1e-3
    """L2 regularisation."""
    strength: Positive = 100.0
    """Of a penalty; steepness of the SAND-mask; a hundred times DANN's factor."""
    annealing: Share = 0.25
    """Share of the steps before a penalty has its strength."""
    rescale: bool = False
    """Multiply what survives the AND-mask by parameters / survivors."""


def run_one(config: Tried) -> Iterator[Row]:
    """Yield the row of one method: what is selected on, and test accuracy."""
    data = coloured_digits(config.seed, config.agreement, config.test_agreement)
    trial = Trial(config.learning_rate, config.weight_decay, config.strength, config.annealing, config.rescale)
    model = train(config.method, data.train, trial, config)
    yield {
        "method": config.method,
        **asdict(trial),
        "train_accuracy": accuracy(model, data.train),
        "training-domain": accuracy(model, data.held_out),
        "test_accuracy": accuracy(model, data.test),
    }


def _fixed(method: str) -> dict[str, Any]:
    """What makes a trial one of a method; settings that mean nothing to it are not drawn."""
    found: dict[str, Any] = {"method": method}
    if method not in (*PENALISED, "dann", "sand-mask"):
        found["strength"] = 1.0
    if method not in PENALISED:
        found["annealing"] = 0.0
    if method != "and-mask":
        found["rescale"] = False
    return found


_SWEPT = Ranges(
    {
        "learning_rate": LogUniform(1e-3, 10**-1.5),
        "weight_decay": LogUniform(1e-5, 1e-1),
        "strength": LogUniform(1.0, 1e4),
        "annealing": Choice(0.0, 0.25, 0.5),
        "rescale": Choice(False, True),
    },
    Objective(("training-domain",)),
    {method: _fixed(method) for method in METHODS},
    Single(lambda config: Tried(**asdict(config)), run_one),
)

RANGES = {"quick": _SWEPT, "paper": _SWEPT}
"""As `methods.draw` has them; selected on held-out examples of the training environments."""


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done = config.methods.index(str(row["method"])) * config.trials + number(row, "trial") + 1
    return done / (len(config.methods) * config.trials), f"{row['method']}, trial {row['trial']}"
