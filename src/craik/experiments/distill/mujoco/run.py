"""A teacher reads future trajectories of simulated bodies: returns of random actions, predicted by a plain network.

The student sees a state and sixteen actions and predicts the quantile of the return. The teacher sees the sixteen states
and rewards that followed, in training only, and sets gated targets for every hidden unit. Beside it: the same student
without a teacher, and with an auxiliary head that predicts the whole trajectory.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from craik.distill import SGD, Distillation, Examples, GatedSquaredError, Lesson, UnitsTeacher, Unrolling, split_rows
from craik.experiments.distill.bodies import Look, rows_of, watch
from craik.experiments.distill.mujoco.baselines import PRINTED, Method, Printed, Setting, without_direction
from craik.experiments.distill.mujoco.figures import CLAIMS, draw_errors, draw_gaps
from craik.experiments.distill.splits import check_split
from craik.experiments.distill.training import ordinary_steps, rounds_of, shuffled
from craik.lab import Row, Rows, number
from craik.lab.limits import at_least, between, not_empty, one_of, positive
from craik.nn.convolutions import trajectory_network
from craik.nn.perceptrons import relu_mlp
from craik.tasks.bodies.mujoco import BINS, mujoco
from craik.tasks.bodies.rollouts import STEPS, AliveBonus, Environment
from craik.tasks.generation import progress_bar
from craik.tasks.privileged import Part, PrivilegedData

REPRODUCES = "thesis section 4.4.3, figures 4.7 and 4.8, tables C.2 to C.7; paper section 4.3, figures 5 and 6, table 7"

__all__ = ["CLAIMS", "PRESETS", "REPRODUCES", "SEEDS", "Config", "figures", "progress", "run"]


@dataclass(frozen=True)
class Config:
    """Settings of one run; what table C.5 says for each environment is in `PRINTED`."""

    seed: int = 0
    """First seed: of the initial weights, the split and the batches. All seeds share an environment's examples."""
    environments: tuple[Environment, ...] = ("Swimmer",)
    """Which bodies are simulated."""
    methods: tuple[Method, ...] = ("no-teacher", "auxiliary", "ldt")
    """Without a teacher, with an auxiliary head that predicts the trajectory, or with a teacher (LDT)."""
    data_seed: int = 0
    """Seed of the simulated examples."""
    train: int = 4000
    """Training examples; LDT splits its validation part off these, the others train on all."""
    selection: int = 2000
    """Examples apart from training and test, on which settings and the time to stop are selected."""
    test: int = 4000
    """Test examples."""
    alive_bonus: AliveBonus = "always"
    """Whether Walker2d's and Hopper's bonus is paid always, as in -v2, or only while healthy, as in -v5."""
    rounds: int = 200
    """Meta-steps, each followed by the student's ordinary steps; the others take as many ordinary steps."""
    inner_steps: int = 16
    """n, the steps of an unroll; table C.6 has 96."""
    student_steps: int = 24
    """N, ordinary steps after each meta-step (table C.6)."""
    batch: int = 24
    """Examples of a step of LDT, inner or ordinary (table C.6)."""
    inner_lr: float = 1e-2
    """Learning rate of the inner SGD (table C.5); its momentum is 0.75 and its L2 1e-8 (table C.6)."""
    meta_lr: float = 5e-4
    """Learning rate of the teacher's Adam (table C.6); its beta1 is in `PRINTED`."""
    student_lr: float = 1e-3
    """Learning rate of the student's Adam with LDT (table C.6)."""
    teacher_channels: tuple[int, ...] = (32, 32, 32, 64)
    """Channels of the teacher's convolutions over time; table C.6 has 96, 96, 96, 256."""
    teacher_hidden: int = 256
    """Units of the teacher's hidden layer; table C.6 has 768."""
    student_widths: tuple[int, ...] = (128, 128, 128, 128, 128)
    """Units of the student's hidden layers, all supervised."""
    grid_lr: tuple[float, ...] = (1e-3,)
    """Learning rates of the methods without a teacher (tables C.2, C.3: 1e-3, 1e-2)."""
    grid_decay: tuple[float, ...] = (0.0,)
    """Their weight decays (tables C.2, C.3: 0, 1e-5, 1e-4)."""
    grid_batch: tuple[int, ...] = (16, 32)
    """Their batch sizes (table C.2: 8, 16, 32)."""
    grid_weight: tuple[float, ...] = (1.0, 4.0)
    """Weights of the auxiliary loss (table C.3: 1, 2, 4)."""
    every: int = 10
    """Rounds between two looks at selection and test examples."""

    def __post_init__(self) -> None:
        not_empty(self, "environments", "methods", "teacher_channels", "student_widths")
        one_of(self, tuple(PRINTED), "environments")
        not_empty(self, "grid_lr", "grid_decay", "grid_batch", "grid_weight")
        at_least(self, 0, "data_seed", "grid_decay", "grid_weight")
        at_least(self, 1, "train", "selection", "test", "rounds", "inner_steps", "student_steps", "every")
        at_least(self, 1, "teacher_channels", "teacher_hidden", "student_widths")
        between(self, 1, self.train, "grid_batch", why="it comes from the training examples")
        positive(self, "inner_lr", "meta_lr", "student_lr", "grid_lr")
        for environment in self.environments:
            check_split(self.train, PRINTED[environment].validation, self.batch)


PRESETS = {
    # A smaller teacher, an unroll of 16 instead of 96, a smaller grid, one of the four bodies.
    "quick": Config(),
    "paper": Config(
        environments=("Swimmer", "Walker2d", "Hopper", "HalfCheetah"),
        test=10_000,
        rounds=1000,
        inner_steps=96,
        teacher_channels=(96, 96, 96, 256),
        teacher_hidden=768,
        grid_lr=(1e-3, 1e-2),
        grid_decay=(0.0, 1e-5, 1e-4),
        grid_batch=(8, 16, 32),
        grid_weight=(1.0, 2.0, 4.0),
    ),
}
SEEDS = {"quick": 3, "paper": 8}


def grid(config: Config, method: Method) -> list[Setting]:
    """Return a method's settings; LDT has one, the printed best."""
    if method == "ldt":
        return [Setting(config.student_lr, 0.0, config.batch, 0.0)]
    weights = config.grid_weight if method == "auxiliary" else (0.0,)
    return [Setting(*values) for values in product(config.grid_lr, config.grid_decay, config.grid_batch, weights)]


def make_student(config: Config, inputs: int) -> nn.Sequential:
    """Return the student of a config's seed: ReLU layers and a linear one, all with weight norm."""
    generator = torch.Generator().manual_seed(config.seed + 2**34)
    return relu_mlp((inputs, *config.student_widths, BINS), generator, weight_norm=True)


def make_teacher(config: Config, features: int) -> UnitsTeacher:
    """Return the teacher of a config's seed: a target and a gate for each hidden unit of the student."""
    generator = torch.Generator().manual_seed(config.seed + 2**33)
    units = {str(2 * layer): width for layer, width in enumerate(config.student_widths)}
    outputs = 2 * sum(config.student_widths)
    network = trajectory_network(features, STEPS, config.teacher_channels, config.teacher_hidden, outputs, generator)
    return UnitsTeacher(network, units, gated=True)


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each example."""
    return cross_entropy(prediction, y, reduction="none")


def train_plainly(config: Config, student: nn.Sequential, examples: Part, setting: Setting) -> Iterator[int]:
    """Train a student in place without a teacher, with an auxiliary head if it has a weight; yield after every round."""
    generator = torch.Generator().manual_seed(config.seed + 2**32)
    wanted = examples.privileged.flatten(1)
    head = relu_mlp((config.student_widths[-1], wanted.shape[1]), generator)
    groups = [*without_direction(student, setting.decay), *without_direction(head, setting.decay)]
    optimizer = torch.optim.Adam(groups, setting.lr)
    batches = shuffled(torch.arange(len(examples.y)), setting.batch, generator)

    def losses(rows: Tensor) -> Tensor:
        hidden = student[:-1](examples.x[rows])
        loss = label_loss(student[-1](hidden), examples.y[rows]).mean()
        return loss + setting.weight * (head(hidden) - wanted[rows]).square().mean() if setting.weight > 0 else loss

    yield from ordinary_steps(losses, batches, optimizer, config.rounds * config.student_steps, config.student_steps)


def make_distillation(
    config: Config,
    student: nn.Sequential,
    examples: Part,
    printed: Printed,
    splitting: Literal["fixed", "redrawn"] = "fixed",
) -> Distillation:
    """Return LDT's step object with the printed settings and a new teacher."""
    generator = torch.Generator().manual_seed(config.seed + 2**32)
    teacher = make_teacher(config, examples.privileged.shape[2])
    return Distillation(
        Lesson(student, teacher, list(teacher.shapes), label_loss, 10**printed.log10_alpha, GatedSquaredError()),
        Examples(*examples),
        split_rows(len(examples.y), printed.validation, generator, splitting),
        Unrolling(SGD(config.inner_lr, momentum=0.75, weight_decay=1e-8), config.inner_steps, config.batch),
        torch.optim.Adam(student.parameters(), config.student_lr),
        torch.optim.Adam(teacher.parameters(), config.meta_lr, betas=(printed.meta_beta1, 0.999)),
        generator,
    )


def train_with_teacher(config: Config, student: nn.Sequential, examples: Part, printed: Printed) -> Iterator[int]:
    """Train a student in place with LDT; yield after every round."""
    distillation = make_distillation(config, student, examples, printed)
    yield from rounds_of(distillation.step, config.rounds, config.student_steps)


def measure(config: Config, method: Method, data: PrivilegedData, printed: Printed, setting: Setting) -> Iterator[Look]:
    """Train one student and look at its errors now and then."""
    student = make_student(config, data.train.x.shape[1])
    steps = (
        train_with_teacher(config, student, data.train, printed)
        if method == "ldt"
        else train_plainly(config, student, data.train, setting)
    )
    yield from watch(student, data, steps, config.every, config.rounds)


def make_data(config: Config, environment: Environment) -> PrivilegedData:
    """Simulate an environment's examples, with a progress bar, or read them from the cache."""
    bar = progress_bar(f"simulating {environment}") if sys.stderr.isatty() else None
    sizes = (config.train, config.selection, config.test)
    return mujoco(environment, config.data_seed, *sizes, config.alive_bonus, on_progress=bar)


def run(config: Config) -> Iterator[Row]:
    """Yield every training run's curve and summary, by environment, method and point of the method's grid."""
    for environment in config.environments:
        data = make_data(config, environment)
        for method in config.methods:
            for place, setting in enumerate(grid(config, method)):
                row: Row = {"environment": environment, "method": method, "place": place, **setting._asdict()}
                yield from rows_of(measure(config, method, data, PRINTED[environment], setting), row)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a run with a teacher counts as eight without."""
    cost = {"no-teacher": 1.0, "auxiliary": 1.5, "ldt": 8.0}
    costs = [
        (environment, method, place, cost[method])
        for environment in config.environments
        for method in config.methods
        for place in range(len(grid(config, method)))
    ]
    here = (row["environment"], row["method"], row["place"])
    index = [run[:3] for run in costs].index((str(here[0]), str(here[1]), int(number(row, "place"))))  # pyright: ignore[reportArgumentType] # tuples of literals and of strings
    part = number(row, "step") / (config.rounds * config.student_steps) if row["kind"] == "curve" else 1.0
    done = sum(run[3] for run in costs[:index]) + part * costs[index][3]
    error = row["selection"]
    return done / sum(run[3] for run in costs), f"{row['environment']}, {row['method']}  error {error:.4f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the errors while training (figure 4.7) and the generalisation gaps (figure 4.8)."""
    return {"test-errors": draw_errors(rows), "generalisation-gaps": draw_gaps(rows)}
