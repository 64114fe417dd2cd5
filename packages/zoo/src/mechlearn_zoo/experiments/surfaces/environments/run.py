"""Averaging and the AND-mask on the spirals, and the losses of environments around what they found.

The plane has the straight way from averaging's solution to the AND-mask's as its first axis, and the consistency score's worst
direction at averaging's solution, made orthogonal to it, as the second. The other cuts are lines: each solution's own worst
direction, along which one environment notices little and another suffers most. A placebo beside the way between both is the
one between averaging's solution and averaging's from the same initial weights on other batches. Surfaces are those of the last
step's networks; how well a method generalises is measured where validation stops it, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from claimlab import EarlyStopping, Positive, Preset, Row, check_limits
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.nn.perceptrons import mlp
from mechlearn.params import Params, dot, parameters_of
from mechlearn.surfaces import (
    Consistency,
    Score,
    Subspace,
    Surface,
    between,
    from_flat,
    inconsistency,
    landscape_of_model,
    line,
    orthogonal_to,
    plane,
    surface_of_model,
)
from mechlearn_zoo.learners.descent import kept_steps
from mechlearn_zoo.learners.spirals.training import accuracy
from mechlearn_zoo.tasks.boards.spirals import MECHANISM, HeldOut, Shortcuts, Split, spiral_points, spirals
from mechlearn_zoo.tasks.streams import same_stream, stream

METHODS = ("averaging", "AND-mask")


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the data, the initial weights, the batches and the score's random starts."""
    environments: Annotated[int, Ge(2)] = 16
    """Training environments."""
    examples: Annotated[int, Ge(8)] = 512
    """Examples of each."""
    shortcuts: Annotated[int, Ge(1)] = 16
    """Shortcut inputs."""
    shortcut_scale: Positive = 0.1
    """Their standard deviation, beside spirals of unit variance."""
    hidden: Annotated[int, Ge(1)] = 128
    """Units of each of three hidden layers."""
    batch: Annotated[int, Ge(1)] = 128
    """Examples of each environment in a step."""
    steps: Annotated[int, Ge(1)] = 1000
    """Steps of either method, by Adam; the last quarter has a tenth of the learning rate."""
    learning_rate: Positive = 1e-2
    """Adam's."""
    epsilon: Positive = 0.05
    """How far an environment's loss may move, for the consistency score."""
    grid: Annotated[int, Ge(3)] = 31
    """Points along each side of the plane."""
    lines: Annotated[int, Ge(5)] = 41
    """Points of a line."""
    compared: Annotated[int, Ge(2)] = 3
    """Environments whose pairs are scored, the first ones."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.batch > self.examples or self.compared > self.environments:
            raise ValueError(f"batch and compared should not exceed examples and environments. Found {self}.")


PRESETS = {
    "quick": Preset(Config(), seeds=6, tolerance=1e-2),
    "paper": Preset(Config(examples=1024, hidden=256, steps=4000, grid=51, compared=16), seeds=10, tolerance=1e-2),
}


@dataclass
class Watched:
    """A training that is looked at: its test accuracy where that on validation examples is best.

    Args:
        validation: nothing is trained or tested on them.
        test: what is reported.
        stopping: its state is kept with the training's.
    """

    validation: Split
    test: Split
    stopping: EarlyStopping = field(default_factory=EarlyStopping)

    def look(self, share: float, model: nn.Module) -> None:
        """Look, if it is time, after a share of the training."""
        if self.stopping.due(share):
            self.stopping.look(share, accuracy(model, self.validation), {"test_accuracy": accuracy(model, self.test)})


class Solution(NamedTuple):
    """What a method found: its network, its surface, its score."""

    model: nn.Module
    surface: Surface
    score: Score


def run(config: Config) -> Iterator[Row]:
    """Yield how both methods end and score, each solution's worst line, and the plane through both."""
    shortcuts = Shortcuts(config.shortcuts, config.shortcut_scale)
    data = spirals(config.seed, config.environments, config.examples, shortcuts, held_out=HeldOut(1, 1))
    validation = validation_split(config, data.plane_scale)
    found: dict[str, Solution] = {}
    for method in METHODS:
        watched = Watched(validation, data.test)
        model = train(config, data.train, method, watched)
        solution = solved(config, model, data.train)
        found[method] = solution
        losses = solution.surface.losses(solution.surface.parameters)
        worst = solution.score.pairs[0]
        yield {
            "kind": "solution",
            "method": method,
            "train_loss": float(losses.mean()),
            "test_accuracy": accuracy(model, data.test),
            **watched.stopping.row,
            "inconsistency": solution.score.inconsistency,
            "walked": worst.walk.largest if worst.walk else None,
            "stays": worst.stays,
            "other": worst.other,
        }
        yield from worst_line(config, solution, method)
    yield from between_both(config, found["averaging"], found["AND-mask"])
    yield placebo(config, found["averaging"], data.train)


def validation_split(config: Config, plane_scale: Tensor, count: int = 2000) -> Split:
    """Draw examples as the test has them, each with shortcuts of its own."""
    generator = stream(config.seed, "validation")
    plane, labels = spiral_points(count, MECHANISM.revolutions, MECHANISM.noise, generator)
    shortcuts = config.shortcut_scale * torch.randn(count, config.shortcuts, generator=generator)
    return Split(torch.cat([plane.float() / plane_scale, shortcuts], 1), labels.float(), torch.arange(count))


def train(config: Config, train: Split, method: str, watched: Watched | None = None, again: bool = False) -> nn.Sequential:
    """Train a network by a method; `again` draws other batches. What is watched is looked at now and then."""
    model = mlp(2 + config.shortcuts, 1, Generator().manual_seed(config.seed), config.hidden, 3)
    agreement = Agreement(model, Mean() if method == "averaging" else AndMask(1.0, rescale=True))
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    generator = same_stream(config.seed + 2**31 if again else config.seed)
    first = torch.arange(config.environments)[:, None] * config.examples
    parts = (model, optimizer, scheduler, generator, *([watched.stopping] if watched else []))
    for step in kept_steps(f"{method} again" if again else method, config.steps, *parts):
        drawn = torch.rand(config.environments, config.examples, generator=generator).argsort(1)[:, : config.batch]
        rows = (first + drawn).flatten()
        optimizer.zero_grad()
        agreement.backward(by_example(model(train.x[rows]), train.y[rows]), train.environments[rows])
        optimizer.step()
        scheduler.step()
        if watched:
            watched.look((step + 1) / config.steps, model)
    return model


def by_example(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return unreduced losses."""
    return bce(outputs[:, 0], targets, reduction="none")


def solved(config: Config, model: nn.Module, train: Split) -> Solution:
    """Return a network's surface and its consistency score over the first environments."""
    batch = [(train.x, train.y, train.environments)]
    search = Subspace(iterations=40, tolerance=0.05)
    consistency = Consistency(config.epsilon, curvature="gauss-newton", ridge=1e-3, search=search, not_minimum="ignore")
    pairs = [(i, j) for i in range(config.compared) for j in range(config.compared) if i != j]
    score = inconsistency(
        landscape_of_model(model, by_example, batch), consistency, Generator().manual_seed(config.seed), pairs
    )
    return Solution(model, surface_of_model(model, by_example, batch), score)


def worst_line(config: Config, solution: Solution, method: str) -> Iterator[Row]:
    """Yield the losses of the two environments of the worst pair along its direction, from -1.5 to 1.5.

    1 is where the environment that should not notice has: the end of the walk.
    """
    surface, worst = solution.surface, solution.score.pairs[0]
    found = line(surface.losses, surface.parameters, worst_of(solution), torch.linspace(-1.5, 1.5, config.lines))
    for role, name in (("stays", worst.stays), ("other", worst.other)):
        values = " ".join(f"{value:.4g}" for value in found[surface.environments.index(name)].tolist())
        yield {"kind": "line", "method": method, "role": role, "losses": values}


def between_both(config: Config, averaging: Solution, masked: Solution) -> Iterator[Row]:
    """Yield the plane through both solutions and averaging's worst direction, for the mean and its pair of environments."""
    surface = averaging.surface
    way = between(surface.parameters, masked.surface.parameters)
    worst = orthogonal_to(worst_of(averaging), [way])
    along, across = torch.linspace(-0.5, 1.5, config.grid), torch.linspace(-1.5, 1.5, config.grid)
    found = plane(surface.losses, surface.parameters, way, worst, (along, across), chunk=32)
    yield {"kind": "barrier"} | barrier(surface, masked.surface.parameters)
    pair = averaging.score.pairs[0]
    for name, values in (("mean", found.mean(0)), ("stays", found[pair.stays]), ("other", found[pair.other])):
        yield {"kind": "plane", "surface": name, "losses": " ".join(f"{value:.3g}" for value in values.flatten().tolist())}


def placebo(config: Config, averaging: Solution, split: Split) -> Row:
    """Return the barrier between averaging's solution and averaging's on other batches, from the same initial weights."""
    model = train(config, split, "averaging", again=True)
    return {"kind": "placebo"} | barrier(averaging.surface, parameters_of(model))


def barrier(surface: Surface, there: Params) -> Row:
    """Return how far the averaged loss rises over the higher end, on the straight way from a surface's parameters."""
    way = between(surface.parameters, there)
    straight = line(surface.mean, surface.parameters, way, torch.linspace(0, 1, 21))
    height = float(straight.max()) - max(float(straight[0]), float(straight[-1]))
    return {"height": height, "distance": float(dot(way, way).sqrt())}


def worst_of(solution: Solution) -> Params:
    """Return a solution's worst direction, as long as the environment that should not notice does not."""
    worst = solution.score.pairs[0]
    reach = worst.walk.scale if worst.walk else 1.0
    return from_flat(reach * solution.score.displacement, solution.surface.parameters)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] in ("barrier", "plane", "placebo"):
        return {"barrier": 0.8, "plane": 0.8, "placebo": 1.0}[str(row["kind"])], str(row["kind"])
    return 0.35 * (1 + METHODS.index(str(row["method"]))), str(row["method"])
