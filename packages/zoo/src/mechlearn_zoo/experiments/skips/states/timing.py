"""Small networks that step through three folds by fixed steps, by ASI, and by ASI relative to distance, on equal budgets.

Every method may evaluate its model as often as every other, in as many gradient steps of about as many evaluations each: a
method with long skips sees more trajectories for it. It then rolls out on test trajectories and is scored by where it ends, by
how far its states lie from the true path, and by what of that path it leaves out; at its end, and where validation stops it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args

import torch
from annotated_types import Ge
from torch import Generator, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, computed, number
from mechlearn.losses import SquaredError
from mechlearn.nn.perceptrons import mlp
from mechlearn.schedules import Linear
from mechlearn.skips import Dynamics, Fixed, Greedy, Matching, displacement, evaluate, match
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, rate_at
from mechlearn_zoo.experiments.skips.states.folds import FRAMES, Timing, generate, quarter
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.streams import stream

METHODS = ("fixed-1", "fixed-2", "fixed-4", "fixed-8", "fixed-16", "direct", "asi", "asi-exploration", "relative")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the trajectories, the initial weights, the batches and the matching."""
    horizon: Annotated[int, Ge(1)] = 8
    """H of every ASI, relative or not."""
    steps: Annotated[int, Ge(1)] = 400
    """Gradient steps of about `evaluations` each."""
    evaluations: Annotated[int, Ge(1)] = 384
    """Model evaluations of a gradient step, on average; what a method may spend is this times the steps."""
    train: Annotated[int, Ge(1)] = 300
    """Trajectories to train on."""
    test: Annotated[int, Ge(1)] = 200
    """Trajectories to score roll-outs on; as many others stop a training."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of the two hidden layers of the residual network."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the steps."""


PRESETS = {"timing": Preset(Config(), seeds=6), "timing-paper": Preset(Config(steps=3000, evaluations=128), seeds=12)}


class Residual(nn.Module):
    """x + net(x)."""

    def __init__(self, size: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.net = mlp(size, size, generator, hidden, 2, init="default")

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the coming state."""
        return states + self.net(states)


class Standard(NamedTuple):
    """The mean and the deviation of each number of a state, in the training data."""

    mean: torch.Tensor
    deviation: torch.Tensor

    def of(self, trajectories: Trajectories) -> Trajectories:
        """Return standardised trajectories."""
        return Trajectories((trajectories.frames - self.mean) / self.deviation, trajectories.lengths)

    def label(self, states: torch.Tensor) -> int:
        """Read the label off the last of some standardised states."""
        return quarter(states * self.deviation + self.mean)


class Sets(NamedTuple):
    """Standardised trajectories to train on, to stop on and to score roll-outs on, and how they were standardised."""

    train: Trajectories
    validation: Trajectories
    test: Trajectories
    standard: Standard


def run(config: Config) -> Iterator[Row]:
    """Train every method on both worlds and yield its scores."""
    for timing in get_args(Timing):
        generator = Generator().manual_seed(5000 + config.seed)
        stored, test = (generate(count, timing, generator) for count in (config.train, config.test))
        flat = stored.frames.flatten(0, 1)
        standard = Standard(flat.mean(0), flat.std(0))
        validation = generate(config.test, timing, stream(config.seed, "validation", timing))
        sets = Sets(standard.of(stored), standard.of(validation), standard.of(test), standard)
        for method in METHODS:
            found = computed(f"{timing}, {method}", _compared, config, method, sets)
            yield {"timing": timing, "method": method} | found


def _compared(config: Config, method: str, sets: Sets) -> Row:
    model, spent, stopped = _trained(config, method, sets)
    return {"spent": spent} | _scores(model, _skip(config, method, model, sets), sets.test, sets.standard) | stopped


def _matching(config: Config, method: str, train: Trajectories, exploration: float = 0.0) -> Matching:
    if method == "direct":
        return Fixed(FRAMES - 1)
    if method.startswith("fixed"):
        return Fixed(int(method.removeprefix("fixed-")))
    if method == "relative":
        return Greedy(config.horizon, exploration, displacement(train, config.horizon))
    return Greedy(config.horizon, exploration if method == "asi-exploration" else 0.0)


def _dynamics(model: nn.Module) -> Dynamics:
    return Dynamics(model, SquaredError(), feedback=torch.detach)  # no gradient from one step to the one before


def _trained(config: Config, method: str, sets: Sets) -> tuple[nn.Module, int, Row]:
    """Train until the budget of evaluations is spent; the batch is of as many trajectories as a step's evaluations allow.

    Whatever is scored, validation stops a training where it shows the right label most often.
    """
    train, stopping = sets.train, EarlyStopping()
    generator = Generator().manual_seed(config.seed)
    model = Residual(train.frame_shape[0], config.hidden, generator)
    dynamics, optimizer = _dynamics(model), torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    spending = Spending(config.steps * config.evaluations, config.evaluations, guess=float(FRAMES - 1))
    budget = spending.budget
    forcing, exploring = Linear(round(0.7 * budget)), Linear(round(0.4 * budget))
    while spending.goes_on:
        rows, spent = spending.draw(len(train), generator), spending.spent
        matching = _matching(config, method, train, exploring(spent) if method != "relative" else 0.0)
        matched = match(dynamics, train[rows], matching, teacher_forcing=forcing(spent), generator=generator, average="steps")
        for group in optimizer.param_groups:
            group["lr"] = rate_at(config.learning_rate, spending.share)
        descend(optimizer, matched.loss)
        spending.add(matched.evaluations, rows)
        if stopping.due(share := min(spending.share, 1.0)):
            skip = _skip(config, method, model, sets)
            right = number(_scores(model, skip, sets.validation, sets.standard), "label")
            stopping.look(share, right, _scores(model, skip, sets.test, sets.standard))
    return model, spending.spent, stopping.row


@torch.no_grad()
def _skip(config: Config, method: str, model: nn.Module, sets: Sets) -> float:
    """Return the method's mean skip on training trajectories."""
    return match(_dynamics(model), sets.train, _matching(config, method, sets.train), teacher_forcing=0.0).mean_skip


@torch.no_grad()
def _scores(model: nn.Module, skip: float, some: Trajectories, standard: Standard) -> Row:
    """Score roll-outs of as many steps as the mean skip makes of a trajectory's length."""
    steps = max(1, round((FRAMES - 1) / skip))
    found = evaluate(_dynamics(model), some, max_steps=steps, read=standard.label).means()
    return {
        "skip": skip,
        "evaluations": found["evaluations"],
        "label": found["right"],
        "final": found["final"],
        "off_path": found["off_path"],
        "coverage": found["coverage"],
    }
