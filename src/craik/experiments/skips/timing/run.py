"""Small networks that step through three folds by fixed steps, by ASI, and by ASI relative to distance, on equal budgets.

Every method may evaluate its model as often as every other, in as many gradient steps of about as many evaluations each: a
method with long skips sees more trajectories for it. It then rolls out on test trajectories and is scored by where it ends, by
how far its states lie from the true path, and by what of that path it leaves out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args

import torch
from annotated_types import Ge
from torch import Generator, nn

from craik.experiments.skips.comparing.budgets import Spending, rate_at
from craik.experiments.skips.timing.folds import FRAMES, Timing, generate, quarter
from craik.lab import Positive, Preset, Row, check_limits, computed
from craik.losses import SquaredError
from craik.nn.perceptrons import mlp
from craik.schedules import Linear
from craik.skips import Dynamics, Fixed, Greedy, Matching, displacement, evaluate, match
from craik.trajectories import Trajectories

METHODS = ("fixed-1", "fixed-2", "fixed-4", "fixed-8", "fixed-16", "direct", "asi", "asi-exploration", "relative")


@dataclass(frozen=True)
class Config:
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
    """Trajectories to score roll-outs on."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of the two hidden layers of the residual network."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the steps."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(steps=3000, evaluations=128), seeds=12)}


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


def run(config: Config) -> Iterator[Row]:
    """Train every method on both worlds and yield its scores."""
    for timing in get_args(Timing):
        generator = Generator().manual_seed(5000 + config.seed)
        stored, test = (generate(count, timing, generator) for count in (config.train, config.test))
        flat = stored.frames.flatten(0, 1)
        standard = Standard(flat.mean(0), flat.std(0))
        train, test = standard.of(stored), standard.of(test)
        for method in METHODS:
            found = computed(f"{timing}, {method}", _compared, config, method, train, test, standard)
            yield {"timing": timing, "method": method} | found


def _compared(config: Config, method: str, train: Trajectories, test: Trajectories, standard: Standard) -> Row:
    model, spent = _trained(config, method, train)
    return {"spent": spent} | _scores(config, method, model, train, test, standard)


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


def _trained(config: Config, method: str, train: Trajectories) -> tuple[nn.Module, int]:
    """Train until the budget of evaluations is spent; the batch is of as many trajectories as a step's evaluations allow."""
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
        optimizer.zero_grad()
        matched.loss.backward()
        optimizer.step()
        spending.add(matched.evaluations, rows)
    return model, spending.spent


@torch.no_grad()
def _scores(config: Config, method: str, model: nn.Module, train: Trajectories, test: Trajectories, standard: Standard) -> Row:
    """Score roll-outs of as many steps as the method's mean skip on training trajectories makes of a trajectory's length."""
    dynamics = _dynamics(model)
    skip = match(dynamics, train, _matching(config, method, train), teacher_forcing=0.0).mean_skip
    steps = max(1, round((FRAMES - 1) / skip))
    found = evaluate(dynamics, test, max_steps=steps, read=standard.label).means()
    return {
        "skip": skip,
        "evaluations": found["evaluations"],
        "label": found["right"],
        "final": found["final"],
        "off_path": found["off_path"],
        "coverage": found["coverage"],
    }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    worlds = get_args(Timing)
    done = worlds.index(str(row["timing"])) * len(METHODS) + METHODS.index(str(row["method"])) + 1
    return done / (len(worlds) * len(METHODS)), f"{row['timing']}, {row['method']}"
