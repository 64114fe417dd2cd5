"""The outcome that a model's roll-out shows, how often it is the true one, and how that grows in training, method by method."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, MinLen
from jaxtyping import Int
from torch import Tensor

from claimlab import Row, Rows, checkpoint
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.skips import Dynamics, rollout
from mechlearn.skips.dynamics import Model
from mechlearn_zoo.experiments.skips.comparing.training import (
    PUBLISHED,
    Method,
    Settings,
    Unit,
    Watch,
    World,
    make_model,
    make_world,
    train,
)
from mechlearn_zoo.tasks.frames.reading import NOTHING

LABELS = {
    "asi": "ASI",
    "asi-no-exploration": "ASI without exploration",
    "relative": "relative ASI",
    "fixed-1": "fixed, Δt = 1",
    "fixed-2": "fixed, Δt = 2",
    "fixed-3": "fixed, Δt = 3",
    "fixed-4": "fixed, Δt = 4",
    "fixed-8": "fixed, Δt = 8",
    "fixed-16": "fixed, Δt = 16",
    "direct": "last frame",
}
"""What figures call a method."""

ROLES = {
    "asi": "ours",
    "asi-no-exploration": "third",
    "relative": "fifth",
    "fixed-1": "baseline",
    "fixed-2": "fourth",
    "fixed-3": "fifth",
    "fixed-4": "sixth",
    "fixed-8": "baseline",
    "fixed-16": "fourth",
    "direct": "third",
}
"""A method's colour, by its role in `claimlab.drawing.COLOURS`; what no preset compares with each other shares one."""

LEARNT = 0.2
"""An accuracy below this is less than guessing among five platforms gets: that method has learnt nothing yet."""

STILL = 1e-3
"""A frame in which nothing differs by more than this from the one before has come to rest."""


class Accuracy(NamedTuple):
    """Label accuracy of rolled-out predictions, the share without any label, and the mean length of a roll-out."""

    accuracy: float
    undecided: float
    rollout: float


def read_labels(frames: Tensor, world: World, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Read the label of each frame (n, channels, height, width) of the given episodes, -1 where it shows none."""
    read = world.episodes.read_pixels if world.context is None else world.episodes.read_moving
    return read(frames.cpu().numpy(), rows)


def label_accuracy(model: Model, world: World, max_steps: int) -> Accuracy:
    """Roll a model out from first frames, until its frames show a label, and compare the labels with the true ones.

    A roll-out whose frames do not change any more (by `STILL`) has no label: it would never show one.
    """
    labels = np.full(len(world), NOTHING)
    rolling = np.arange(len(world))
    frames, evaluations = world.frames.first(), 0
    loss = BinaryCrossEntropyWithLogits()
    # One step at a time: which label a frame shows depends on the episode that it belongs to.
    for _ in range(max_steps):
        if rolling.size == 0:
            break
        context = world.context_of(torch.from_numpy(rolling))
        before = frames
        frames = rollout(Dynamics(model, loss, context), before, max_steps=1).trajectories.last()
        evaluations += rolling.size
        labels[rolling] = read_labels(frames, world, rolling)
        changed = (frames - before).flatten(1).abs().amax(dim=1) > STILL
        going = (labels[rolling] == NOTHING) & changed.cpu().numpy()
        rolling, frames = rolling[going], frames[torch.from_numpy(going).to(frames.device)]
    right = labels == world.episodes.labels
    return Accuracy(float(right.mean()), float((labels == NOTHING).mean()), evaluations / len(world))


class Worlds(NamedTuple):
    """Episodes to train on, to select on, and to report."""

    training: World
    validation: World
    test: World


def make_worlds(settings: Settings, test_episodes: int) -> Worlds:
    """Draw the episodes of a settings' seed."""
    return Worlds(
        make_world(settings, "train", settings.episodes),
        make_world(settings, "validation", settings.validation_episodes),
        make_world(settings, "test", test_episodes),
    )


class Budget(NamedTuple):
    """What a method may spend on training."""

    total: int
    unit: Unit = "evaluations"


@dataclass(frozen=True)
class Comparison(Settings):
    """Settings of a comparison at equal cost; the README of skips-accuracy says where thesis and released code differ."""

    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "asi-no-exploration", "fixed-1", "fixed-2", "fixed-3")
    """What to compare."""
    evaluations: Annotated[int, Ge(1)] = 15_000
    """Model evaluations that each method may spend on training."""
    epochs: Annotated[int, Ge(1)] | None = None
    """Passes over the training episodes, the same for every method, to spend instead of evaluations; None for evaluations."""
    checks: Annotated[int, Ge(1)] = 5
    """How often, evenly spaced in what is spent, accuracy is measured on validation episodes."""
    test_episodes: Annotated[int, Ge(1)] = 200
    """Episodes for the report: at the end of a training, and where validation may stop it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.budget.total
        if self.checks > most:
            raise ValueError(f"checks should be between 1 and {most}: they are spread over what is spent. Found {self.checks}.")

    @property
    def budget(self) -> Budget:
        """What each method may spend."""
        return Budget(self.evaluations) if self.epochs is None else Budget(self.epochs * self.episodes, "episodes")


QUICK = Comparison(decay_evaluations=10_000)
"""Minutes on two cores: far from convergence."""

PAPER = Comparison(**asdict(PUBLISHED), test_episodes=500, evaluations=9_000_000, checks=150)
"""The thesis's scale: 150 epochs at dt = 1, of about 119 frames each."""


def train_and_read(
    settings: Settings, method: Method, worlds: Worlds, budget: Budget, checks: int, watch: Watch | None = None
) -> Iterator[Row]:
    """Train with one method; yield its curve on validation episodes and, at the end, its accuracy on test episodes.

    Args:
        settings: of the experiment.
        method: how predictions are matched.
        worlds: what to train on and to measure on.
        budget: what training may spend.
        checks: how often, evenly spaced in what is spent, accuracy is measured.
        watch: called after each step of training.
    """
    model = make_model(settings, worlds.training)
    row: Row = {}
    saved = checkpoint("training")
    yield from saved.values
    every = budget.total // checks
    for report in train(settings, method, model, lambda _: worlds.training, every, budget.unit, saved, watch):
        accuracy = label_accuracy(model, worlds.validation, settings.max_steps)
        row = {"task": settings.task, "method": method, "budget": budget.total, "unit": budget.unit, **report._asdict()}
        row |= {f"validation_{name}": value for name, value in accuracy._asdict().items()}
        if (report.evaluations if budget.unit == "evaluations" else report.steps * settings.batch) >= budget.total:
            yield {"kind": "curve", **row}
            break
        yield saved.keep(report.steps, {"kind": "curve", **row})
    final = label_accuracy(model, worlds.test, settings.max_steps)
    yield {"kind": "final", **row, **{f"test_{name}": value for name, value in final._asdict().items()}}


def methods_of(rows: Rows) -> list[str]:
    """Return the methods that rows are of, in the order of their labels."""
    return [method for method in LABELS if rows.where(method=method)]


def spending(rows: Rows) -> str:
    """Return the column that says what has been spent: epochs where all methods see as many, evaluations elsewhere."""
    return "epochs" if rows.where(unit="episodes") else "evaluations"
