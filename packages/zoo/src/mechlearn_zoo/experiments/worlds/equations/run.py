"""Networks of formulas and perceptrons, trained by each of the three systems, and their errors outside of what was seen.

Agreement: a formula's data come in environments that are ranges of its inputs, with a sensor beside them that follows the
answer with a slope of the environment's own. Skips: a pendulum that swings further than it ever did. Distill: few noisy
examples of the formula, with its terms as privileged data. What lies outside of the training range is for tests, and of another
draw for validation, which says where each training would have been stopped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, cast

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, computed
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.distill import Distillation, Examples, Lesson, UnitsTeacher, Unrolling, split_rows
from mechlearn.losses import SquaredError
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.skips import Dynamics, Fixed, Greedy, Matching, match
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.worlds.equations import data
from mechlearn_zoo.experiments.worlds.equations.data import Fold
from mechlearn_zoo.nn.equations import equation_network, sparsity
from mechlearn_zoo.tasks.streams import stream

Network = Literal["equations", "perceptron"]
Arm = Literal["mean", "and-mask", "fixed-1", "asi", "no-teacher", "ldt"]
NETWORKS: tuple[Network, ...] = ("equations", "perceptron")
ARMS: tuple[Arm, ...] = ("mean", "and-mask", "fixed-1", "asi", "no-teacher", "ldt")
SYSTEMS: dict[str, str] = {
    "mean": "agreement", "and-mask": "agreement", "fixed-1": "skips", "asi": "skips", "no-teacher": "distill", "ldt": "distill",
}  # fmt: skip


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the data, the initial weights, batches and splits."""
    networks: Annotated[tuple[Network, ...], MinLen(1)] = NETWORKS
    """Equation layers, and perceptrons of about as many parameters."""
    arms: Annotated[tuple[Arm, ...], MinLen(1)] = ARMS
    """Averaging and the AND-mask; steps of 1 and ASI; no teacher and LDT."""
    units: Annotated[int, Ge(1)] = 3
    """Identities, sines and products of an equation layer, of each so many."""
    hidden: Annotated[int, Ge(1)] = 12
    """Units of the perceptron's hidden layer."""
    steps: Annotated[int, Ge(4)] = 600
    """Optimiser steps; in the second half weights have a penalty, in the last quarter the rate is a tenth."""
    learning_rate: Positive = 1e-2
    """Adam's."""
    penalty: Annotated[float, Ge(0)] = 1e-3
    """Of the sum of absolute weights, in the second half."""
    noise: Annotated[float, Ge(0)] = 0.05
    """Standard deviation added to answers in training."""
    horizon: Annotated[int, Ge(1)] = 6
    """H of ASI."""
    rounds: Annotated[int, Ge(4)] = 50
    """LDT's meta-steps; without a teacher as many ordinary steps as its student takes."""
    inner_steps: Annotated[int, Ge(1)] = 16
    """n of an unroll, and N ordinary steps after it."""
    alpha: Positive = 1.0
    """LDT's teaching coefficient."""


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(units=10, hidden=50, steps=20_000, rounds=1000), seeds=10),
}


def make_network(config: Config, network: Network, inputs: int, outputs: int) -> nn.Sequential:
    """Return a network of either class."""
    generator = stream(config.seed, "weights")
    if network == "perceptron":
        return relu_mlp((inputs, config.hidden, outputs), generator)
    return equation_network(inputs, outputs, generator, units=(config.units, config.units, config.units))


def run(config: Config) -> Iterator[Row]:
    """Yield each arm's errors inside and outside of the training range, by either network."""
    for arm in config.arms:
        for network in config.networks:
            run_arm = {"agreement": by_agreement, "skips": by_skips, "distill": by_distilling}[SYSTEMS[arm]]
            found = computed(f"{arm}, {network}", run_arm, config, arm, network)
            yield {"system": SYSTEMS[arm], "arm": arm, "network": network, **found}


class Errors(NamedTuple):
    """How far off a model is: on tests inside and outside of the range, and on validation data outside of it."""

    inside: float
    outside: float
    validation: float


@dataclass
class Watched:
    """A training that is looked at: its errors at its end, and where validation stops it.

    Args:
        errors: of the model as it is.
        stopping: by the least error on validation data.
    """

    errors: Callable[[], Errors]
    stopping: EarlyStopping = field(default_factory=lambda: EarlyStopping(best="lowest"))

    def look(self, share: float) -> None:
        """Look, if it is time, after a share of the training."""
        if self.stopping.due(share):
            found = self.errors()
            self.stopping.look(share, found.validation, {"inside": found.inside, "outside": found.outside})

    def row(self) -> Row:
        """Return the errors at the end and where validation stops the training."""
        found = self.errors()
        return {"inside": found.inside, "outside": found.outside, **self.stopping.row}


def descend(config: Config, model: nn.Module, steps: int, backward: Callable[[], None], watched: Watched) -> None:
    """Take steps of Adam; the penalty's phases are those of Martius and Lampert, without the last, of fixed zeros."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = config.learning_rate * (0.1 if step >= 0.75 * steps else 1.0)
        optimizer.zero_grad()
        backward()
        if step >= steps // 2 and config.penalty > 0:
            (config.penalty * sparsity(model)).backward()
        optimizer.step()
        watched.look((step + 1) / steps)


def relative(model: nn.Module, fold: Fold) -> float:
    """Return the mean squared error as a share of the answers' variance."""
    with torch.no_grad():
        return float((model(fold.x) - fold.y).square().mean() / fold.y.var(correction=0))


def watched_on(model: nn.Module, inside: Fold, outside: Fold, validation: Fold) -> Watched:
    """Return what looks at a model of the formula."""
    return Watched(lambda: Errors(*(relative(model, fold) for fold in (inside, outside, validation))))


def by_agreement(config: Config, arm: Arm, network: Network) -> Row:
    """Train on ranges of a formula's inputs with a sensor whose slope changes from range to range, and is lost outside."""
    ranges = data.formula_ranges(config.seed, config.noise)
    model = make_network(config, network, 3, 1)
    agreement = Agreement(model, AndMask(1.0, rescale=True) if arm == "and-mask" else Mean())
    watched = watched_on(model, ranges.inside, ranges.outside, data.outside(stream(config.seed, "validation"), sensor=True))

    def backward() -> None:
        agreement.backward((model(ranges.train.x) - ranges.train.y).square()[:, 0], ranges.environments)

    descend(config, model, config.steps, backward, watched)
    return watched.row()


def by_skips(config: Config, arm: Arm, network: Network) -> Row:
    """Train a model of a pendulum that swings little; measure how far off its prediction lies where it swings far."""
    small, wide = data.pendulums(config.seed, 32, 0.8), data.pendulums(config.seed + 2**20, 64, 2.4)
    inside, validation = data.pendulums(config.seed + 2**21, 64, 0.8), data.pendulums(config.seed + 2**22, 64, 2.4)
    change = make_network(config, network, 2, 2)

    def model(frames: Tensor) -> Tensor:
        return frames + change(frames)

    batch = Trajectories.from_list(list(small))
    generator = Generator().manual_seed(config.seed)
    matching: Matching = Greedy(config.horizon, 0.0) if arm == "asi" else Fixed(1)
    dynamics = Dynamics(model, SquaredError())
    reach = config.horizon if arm == "asi" else 1
    watched = Watched(lambda: Errors(*(data.nearest(model, paths, reach) for paths in (inside, wide, validation))))

    def backward() -> None:
        match(dynamics, batch, matching, teacher_forcing=1.0, generator=generator, average="steps").loss.backward()

    descend(config, change, max(4, config.steps // 4), backward, watched)
    return watched.row()


def by_distilling(config: Config, arm: Arm, network: Network) -> Row:
    """Train on few noisy examples of a formula; the teacher sees its terms without noise."""
    few = data.formula_few(config.seed)
    student = make_network(config, network, 2, 1)
    steps = config.rounds * config.inner_steps
    watched = watched_on(student, few.inside, few.outside, data.outside(stream(config.seed, "validation")))
    if arm == "no-teacher":
        descend(config, student, steps, lambda: (student(few.train.x) - few.train.y).square().mean().backward(), watched)
        return watched.row()
    generator = stream(config.seed, "teacher, splits and batches")
    # What the read-out reads: terms of equations, or the perceptron's rectified units.
    layer, width = str(len(student) - 2), cast(nn.Linear, student[-1]).in_features
    teacher = UnitsTeacher(relu_mlp((few.terms.shape[1], 32, width), generator), {layer: width})
    distillation = Distillation(
        Lesson(student, teacher, [layer], lambda prediction, y: (prediction - y).square()[:, 0], config.alpha),
        Examples(few.train.x, few.terms, few.train.y),
        split_rows(len(few.train.y), 0.5, generator, "redrawn"),
        Unrolling("student", config.inner_steps, 16),
        torch.optim.Adam(student.parameters(), config.learning_rate),
        torch.optim.Adam(teacher.parameters(), config.learning_rate),
        generator,
    )
    for round_ in range(config.rounds):
        distillation.step(config.inner_steps)
        watched.look((round_ + 1) / config.rounds)
    return watched.row()
