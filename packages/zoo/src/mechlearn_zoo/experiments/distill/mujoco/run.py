"""Returns of random actions, predicted by a plain network, with a teacher that reads the trajectory and without one.

The student sees a state and sixteen actions and predicts the quantile of the return. The teacher sees the sixteen states
and rewards that followed, in training only, and sets gated targets for every hidden unit. Beside it: the same student
without a teacher, and with an auxiliary head that predicts the whole trajectory; and, where asked for, models of the body that
are rolled out step by step (appendix C.2.2.3).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, MinLen
from torch import nn

from claimlab import Positive, Preset, Row, Saved, checkpoint, number
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.mujoco.baselines import Setting, train_plainly
from mechlearn_zoo.experiments.distill.mujoco.model_based import (
    MODEL_BASED,
    ModelBased,
    depths,
    evaluations,
    make_world,
    train_world,
)
from mechlearn_zoo.experiments.distill.mujoco.side_by_side import batched, flushed_denormals
from mechlearn_zoo.experiments.distill.training import Counts, check_split, rounds_of
from mechlearn_zoo.tasks.bodies.rollouts import ENVIRONMENTS, Environment
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData

Method = Literal["no-teacher", "auxiliary", "ldt", "ldt-grid", "ssm", "stacked", "pairs"]

NotNegative = Annotated[float, Ge(0)]


@dataclass(frozen=True)
class Config(bodies.Training):
    """Settings of one run: those of a training, what is trained, and the grids of what has no teacher."""

    environments: Annotated[tuple[Environment, ...], MinLen(1)] = ("Swimmer",)
    """Which bodies are simulated."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("no-teacher", "auxiliary", "ldt")
    """Without a teacher, with an auxiliary head that predicts the trajectory, or with a teacher (LDT), with its printed setting
    or over its grid; or a model of the body: a state-space model, the student stacked sixteen times, or trained on pairs."""
    grid_lr: Annotated[tuple[Positive, ...], MinLen(1)] = (1e-3,)
    """Learning rates of the methods without a teacher (tables C.2, C.3: 1e-3, 1e-2)."""
    grid_decay: Annotated[tuple[NotNegative, ...], MinLen(1)] = (0.0,)
    """Their weight decays (tables C.2, C.3: 0, 1e-5, 1e-4)."""
    grid_batch: Counts = (16, 32)
    """Their batch sizes (table C.2: 8, 16, 32)."""
    grid_weight: Annotated[tuple[NotNegative, ...], MinLen(1)] = (1.0, 4.0)
    """Weights of the auxiliary loss (table C.3: 1, 2, 4)."""
    stacked: bool = False
    """Whether the points of a grid without a teacher that have one batch size train side by side in one batched run: the same
    steps up to rounding, with denormal numbers taken for zero. Off where records were made one by one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.grid_batch) > self.train:
            why = "it comes from the training examples"
            raise ValueError(f"grid_batch should be at most {self.train}: {why}. Found {max(self.grid_batch)}.")
        for environment in self.environments:
            check_split(self.train, bodies.PRINTED[environment].validation, self.batch)


_FAITHFUL = replace(
    Config(**asdict(bodies.TRAININGS["paper"])),
    seed=100,
    rounds=400,
    every=20,
    environments=ENVIRONMENTS,
    grid_lr=(1e-3, 1e-2),
    grid_decay=(0.0, 1e-4),
    grid_batch=(8, 16, 32),
    grid_weight=(1.0, 2.0, 4.0),
    stacked=True,
)

PRESETS = {
    # A smaller grid, and one of the four bodies.
    "quick": Preset(Config(**asdict(bodies.TRAININGS["quick"])), seeds=3),
    # The appendix's model-based students beside the two that they are compared with.
    "model-based": Preset(
        Config(**asdict(bodies.TRAININGS["quick"]), methods=("no-teacher", "ldt", "ssm", "stacked", "pairs")), seeds=6
    ),
    # Table C.4, all 54, in a sixth of quick's rounds.
    "ldt-grid": Preset(
        replace(Config(**asdict(bodies.TRAININGS["quick"]), methods=("no-teacher", "ldt-grid")), seed=100, rounds=30), seeds=6
    ),
    # The printed teacher, unrolls and step sizes on all bodies, with two fifths of paper's rounds and fewer decays.
    "faithful": Preset(_FAITHFUL, seeds=6),
    # The same a body at a time, so that one can be recorded without the others: bodies share nothing.
    **{f"faithful-{body.lower()}": Preset(replace(_FAITHFUL, environments=(body,)), seeds=6) for body in ENVIRONMENTS},
    "paper": Preset(replace(_FAITHFUL, seed=0, rounds=1000, every=10, grid_decay=(0.0, 1e-5, 1e-4)), seeds=8),
}


class Point(NamedTuple):
    """A point of LDT's own grid (table C.4)."""

    meta_beta1: float
    inner_lr: float
    log10_alpha: float
    validation: float


LDT_GRID = [Point(*point) for point in product((0.0, 0.9), (1e-3, 5e-3, 1e-2), (2.0, 2.5, 3.0), (0.3, 0.5, 0.7))]
"""Table C.4: 54 settings, of which table C.5 has the best."""


def grid(config: Config, method: Method) -> list[Setting]:
    """Return a method's settings; LDT has one, the printed best. Its own grid is `LDT_GRID`."""
    if method == "ldt":
        return [Setting(config.student_lr, 0.0, config.batch, 0.0)]
    weights = config.grid_weight if method == "auxiliary" else (0.0,)
    return [Setting(*values) for values in product(config.grid_lr, config.grid_decay, config.grid_batch, weights)]


def run(config: Config) -> Iterator[Row]:
    """Yield every training run's curve and summary, by environment, method and point of the method's grid."""
    with flushed_denormals(config.stacked):
        for environment in config.environments:
            data = bodies.make_data(config, environment)
            for method in config.methods:
                yield from method_rows(config, method, data, environment)


def method_rows(config: Config, method: Method, data: PrivilegedData, environment: Environment) -> Iterator[Row]:
    """Yield the runs of one method on one body."""
    if method == "ldt-grid":
        yield from grid_rows(config, data, environment)
        return
    if config.stacked and method in ("no-teacher", "auxiliary"):
        yield from stacked_rows(config, method, data, environment)
        return
    for place, setting in enumerate(grid(config, method)):
        row: Row = {"environment": environment, "method": method, "place": place, **setting._asdict()}
        saved = checkpoint(f"{environment}, {method}, {place}")
        if method in MODEL_BASED:
            yield from model_rows(config, method, data, setting, saved, row)
            continue
        looks = measure(config, method, data, bodies.PRINTED[environment], setting, saved)
        yield from bodies.rows_of(looks, row)


def grid_rows(config: Config, data: PrivilegedData, environment: Environment) -> Iterator[Row]:
    """Yield LDT's runs over its own grid, each a curve and a summary."""
    setting = grid(config, "ldt")[0]
    for place, point in enumerate(LDT_GRID):
        row: Row = {"environment": environment, "method": "ldt-grid", "place": place, **setting._asdict(), **point._asdict()}
        saved = checkpoint(f"{environment}, ldt-grid, {place}")
        printed = bodies.Printed(point.meta_beta1, point.log10_alpha, point.validation)
        changed = replace(config, inner_lr=point.inner_lr)
        yield from bodies.rows_of(measure(changed, "ldt", data, printed, setting, saved), row)


def stacked_rows(config: Config, method: Method, data: PrivilegedData, environment: Environment) -> Iterator[Row]:
    """Yield the runs over the grid of a method without a teacher, trained side by side."""
    settings = grid(config, method)
    seen = batched(config, data, settings, f"{environment}, {method}")
    for place, (setting, one) in enumerate(zip(settings, seen, strict=True)):
        row: Row = {"environment": environment, "method": method, "place": place, **setting._asdict()}
        yield from bodies.rows_of(one.again(), row)


def places(config: Config, method: Method) -> int:
    """Return how many training runs a method has."""
    return len(LDT_GRID) if method == "ldt-grid" else len(grid(config, method))


def model_rows(
    config: Config, method: ModelBased, data: PrivilegedData, setting: Setting, saved: Saved, row: Row
) -> Iterator[Row]:
    """Yield a model's curve and summary, with what it costs, and its errors by depth."""
    world = make_world(config, method, data.train)
    steps = train_world(config, world, data.train, setting, saved)
    looks = bodies.watch(world, data, steps, config.every, config.rounds, saved)
    yield from bodies.rows_of(looks, {**row, **evaluations(config, setting)})
    yield from depths(world, data, row)


def measure(
    config: Config, method: Method, data: PrivilegedData, printed: bodies.Printed, setting: Setting, saved: Saved
) -> Iterator[bodies.Look]:
    """Train one student, from where it was, and look at its errors now and then."""
    student = bodies.make_student(config, data.train.x.shape[1])
    lost = [0] if method == "ldt" and config.nonfinite != "raise" else None
    steps = (
        train_with_teacher(config, student, data.train, printed, saved, lost)
        if method == "ldt"
        else train_plainly(config, student, data.train, setting, saved)
    )
    yield from bodies.watch(student, data, steps, config.every, config.rounds, saved, lost)


def train_with_teacher(
    config: Config, student: nn.Sequential, examples: Part, printed: bodies.Printed, saved: Saved, lost: list[int] | None = None
) -> Iterator[int]:
    """Train a student in place with LDT; yield after every round. Meta-steps that were lost are counted in `lost`."""
    distillation = bodies.make_distillation(config, student, examples, printed)
    counts = [0] if lost is None else lost
    saved.restore(distillation, counts)

    def step(student_steps: int) -> None:
        counts[0] += distillation.meta_step().nonfinite > 0
        distillation.student_steps(student_steps)

    yield from rounds_of(step, config.rounds, config.student_steps, saved.done)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a run with a teacher counts as eight without."""
    cost = {"no-teacher": 1.0, "auxiliary": 1.5, "ldt": 8.0, "ldt-grid": 8.0, "ssm": 6.0, "stacked": 8.0, "pairs": 2.0}
    runs: list[tuple[object, ...]] = [
        (environment, method, place)
        for environment in config.environments
        for method in config.methods
        for place in range(places(config, method))
    ]
    costs = [cost[str(method)] for _, method, _ in runs]
    index = runs.index((row["environment"], row["method"], row["place"]))
    part = number(row, "step") / (config.rounds * config.student_steps) if row["kind"] == "curve" else 1.0
    text = f"{row['environment']}, {row['method']}"
    text += "" if row["kind"] == "depth" else f"  error {number(row, 'selection'):.4f}"
    return (sum(costs[:index]) + part * costs[index]) / sum(costs), text
