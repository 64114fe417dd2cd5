"""Values learnt from noisy returns, by a student that sees the first state and a teacher that sees the trajectory.

The process is finite, so that every estimate is compared with the exact value of every state. The student's input is the state
alone, one-hot: nothing is gained by generalising over states, all of it must come from better targets. Trajectories that lie
with other examples are the placebo; counting the transitions in them and solving for values is the classical use of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import Positive, Preset, Row, Share, check_limits, number
from mechlearn.distill import OUTPUT, Distillation, Examples, Lesson, UnitsTeacher, Unrolling, split_rows
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.trajectories.finite import FiniteMDP
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import Count, check_split, now_and_then, ordinary_steps, rounds_of
from mechlearn_zoo.experiments.distill.value.tables import counted, ridge
from mechlearn_zoo.methods.privileged import auxiliary_loss
from mechlearn_zoo.tasks.finite.grids import open_grid
from mechlearn_zoo.tasks.finite.returns import Returns, sampled_returns

Method = Literal["constant", "ridge", "counted", "no-teacher", "auxiliary", "ldt", "ldt-placebo"]
METHODS: tuple[Method, ...] = ("constant", "ridge", "counted", "no-teacher", "auxiliary", "ldt", "ldt-placebo")


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the process, its policy, the episodes, the initial weights, the split and the batches."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """What estimates values; the first three without a network."""
    side: Annotated[int, Ge(2)] = 6
    """Cells of each side of the grid."""
    discount: Share = 0.95
    """Gamma."""
    examples: Count = 400
    """Returns to learn from; half as many more choose settings and when to stop."""
    frames: Count = 12
    """Steps of a trajectory that are kept, as x*."""
    horizon: Count = 150
    """Steps after which an episode is cut off."""
    rounds: Count = 80
    """Meta-steps, each followed by the student's ordinary steps; without a teacher as many ordinary steps."""
    inner_steps: Count = 16
    """n, the steps of an unroll."""
    student_steps: Count = 16
    """N, ordinary steps after each meta-step."""
    batch: Count = 32
    """Examples of a step."""
    alpha: Positive = 3.0
    """Teaching coefficient."""
    weight: Positive = 1.0
    """Of the auxiliary head's loss."""
    validation: Share = 0.5
    """Share of the examples that is kept from the student and trains the teacher."""
    splitting: Literal["fixed", "redrawn"] = "redrawn"
    """Whether the split is drawn once, or anew before every meta-step, so that every example teaches the student."""
    student_lr: Positive = 3e-3
    """Learning rate of the students' Adam."""
    meta_lr: Positive = 3e-3
    """Learning rate of the teacher's Adam."""
    hidden: Count = 64
    """Units of the student's hidden layer, and of the teacher's."""
    every: Count = 2
    """Rounds between two looks."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_split(self.examples, self.validation, self.batch)
        if self.horizon < self.frames:
            raise ValueError(f"horizon should be at least frames, which are taken from it. Found {self.horizon}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(side=12, examples=4000, frames=32, rounds=1000, hidden=256, horizon=400), seeds=10),
}


class Problem(NamedTuple):
    """A process with a policy, and what is learnt from.

    Attributes:
        process, values: a grid, and the exact values of a policy in it, standardised as the returns are.
        train, selection: episodes.
        y, held: (b,) their returns, standardised.
        mean, scale: of the training returns.
    """

    process: FiniteMDP
    values: Tensor
    train: Returns
    selection: Returns
    y: Tensor
    held: Tensor
    mean: float
    scale: float


def make_problem(config: Config) -> Problem:
    """Draw a grid with a prize and a pit, a policy that is no good, and its episodes."""
    generator = Generator().manual_seed(config.seed)
    grid = open_grid(config.side, config.side)
    places = torch.randperm(len(grid), generator=generator)[:2]
    prize, pit = (tuple(int(one) for one in grid.cells[place]) for place in places)
    process = grid.mdp({(prize[0], prize[1]): 1.0, (pit[0], pit[1]): -1.0}, (0, 0), config.discount, slip=0.1)
    policy = torch.softmax(torch.randn(len(grid), 4, generator=generator, dtype=torch.float64), 1)
    size = config.examples + config.examples // 2
    found = sampled_returns(process, policy, size, config.frames, config.horizon, generator)
    train, selection = (Returns(*(part[rows] for part in found)) for rows in torch.arange(size).split(config.examples))
    mean, scale = float(train.returns.mean()), float(train.returns.std())
    y, held, values = ((one - mean) / scale for one in (train.returns, selection.returns, process.values(policy)))
    return Problem(process, values, train, selection, y.float(), held.float(), mean, scale)


def run(config: Config) -> Iterator[Row]:
    """Yield each method's errors against exact values, as a share of the variance of values over states."""
    problem = make_problem(config)
    noise = float((problem.y - problem.values[problem.train.states]).square().mean())
    for method in config.methods:
        points = list(looks(config, method, problem))
        yield {"method": method, "noise": noise, "spread": float(problem.values.var()), **summary(points, min)}


def looks(config: Config, method: Method, problem: Problem) -> Iterator[Measured]:
    """Look at a method's estimates of all states: error on held-out returns, and the share of the values' variance missed."""
    for step, estimate in estimates(config, method, problem):
        selection = float((estimate[problem.selection.states] - problem.held).square().mean())
        missed = float((estimate - problem.values).square().mean() / problem.values.var(correction=0))
        yield Measured(step, selection, missed)


def estimates(config: Config, method: Method, problem: Problem) -> Iterator[tuple[int, Tensor]]:
    """Yield estimates of all states' values: those of every strength of ridge, or now and then while a student trains."""
    states, y, count = problem.train.states, problem.y.double(), problem.process.states
    if method == "constant":
        yield 0, torch.zeros(count, dtype=torch.float64)
    elif method == "ridge":
        yield from enumerate(ridge(states, y, count, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)))
    elif method == "counted":
        found = counted(problem.train, count, config.discount)
        yield 0, (found - problem.mean) / problem.scale
    else:
        student = relu_mlp((count, config.hidden, 1), Generator().manual_seed(config.seed + 2**34))
        every = torch.eye(count)
        for step in now_and_then(train(config, method, student, problem), config.every, config.rounds):
            with torch.no_grad():
                yield step, student(every)[:, 0].double()


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the squared error of each example."""
    return (prediction[:, 0] - y).square()


def train(config: Config, method: Method, student: nn.Sequential, problem: Problem) -> Iterator[int]:
    """Train a student in place; yield the number of its ordinary steps after every round."""
    generator = Generator().manual_seed(config.seed + 2**32)
    x, y, privileged = (
        torch.eye(problem.process.states)[problem.train.states],
        problem.y,
        problem.train.frames(problem.process.states),
    )
    weights = Generator().manual_seed(config.seed + 2**33)
    if method.startswith("ldt"):
        shuffled = privileged[torch.randperm(len(y), generator=weights)]  # drawn for either, so that weights are the same
        teacher = make_teacher(config, privileged, weights)
        distillation = Distillation(
            Lesson(student, teacher, [OUTPUT], label_loss, config.alpha),
            Examples(x, shuffled if method == "ldt-placebo" else privileged, y),
            split_rows(len(y), config.validation, generator, config.splitting),
            Unrolling("student", config.inner_steps, config.batch),
            torch.optim.Adam(student.parameters(), config.student_lr),
            torch.optim.Adam(teacher.parameters(), config.meta_lr),
            generator,
        )
        yield from rounds_of(distillation.step, config.rounds, config.student_steps)
        return
    head = relu_mlp((config.hidden, privileged[0].numel()), weights)
    trained = [*student.parameters(), *(head.parameters() if method == "auxiliary" else [])]

    def losses(rows: Tensor) -> Tensor:
        features = student[:-1](x[rows])
        main = label_loss(student[-1](features), y[rows])
        if method != "auxiliary":
            return main
        return main + config.weight * auxiliary_loss(head(features).view_as(privileged[rows]), privileged[rows])

    batches = Stream(torch.arange(len(y)), config.batch, generator)
    steps = config.rounds * config.student_steps
    optimizer = torch.optim.Adam(trained, config.student_lr)
    yield from ordinary_steps(losses, batches, optimizer, steps, config.student_steps)


def make_teacher(config: Config, privileged: Tensor, generator: Generator) -> UnitsTeacher:
    """Return a teacher that gives a target for the student's output: a better return."""
    network = relu_mlp((privileged[0].numel(), config.hidden, 1), generator)
    return UnitsTeacher(nn.Sequential(nn.Flatten(), *network), {OUTPUT: 1})


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done = [str(method) for method in config.methods].index(str(row["method"])) + 1
    return done / len(config.methods), f"{row['method']}  error {number(row, 'selected'):.2f}"
