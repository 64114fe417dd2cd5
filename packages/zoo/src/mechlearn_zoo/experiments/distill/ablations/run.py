"""Students of simulated bodies with LDT, with each part of it taken away, and with other uses of the same privileged data.

Figure 4.9's ablations: an untrained teacher, trajectories in shuffled time, trajectories replaced by noise, a validation
set that is drawn anew at every step. Beside them: parts of it done otherwise (`parts`), the targets of `fixed_teachers`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any

import torch
from annotated_types import Ge, MinLen
from torch import nn

from claimlab import Positive, Preset, Row, Share, check_limits, number, part
from mechlearn.distill.examples.streams import Stream
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.ablations import parts
from mechlearn_zoo.experiments.distill.ablations.fixed_teachers import losses_of
from mechlearn_zoo.experiments.distill.ablations.variants import ABLATED, LABELS, OTHERS, PARTS, SEEING, Trial
from mechlearn_zoo.experiments.distill.bodies import PRINTED, TRAININGS, Scale, Training, noise_frames, with_other_trajectories
from mechlearn_zoo.experiments.distill.mujoco.baselines import Setting, train_plainly
from mechlearn_zoo.experiments.distill.mujoco.side_by_side import flushed_denormals
from mechlearn_zoo.experiments.distill.training import Count, Counts, ordinary_steps, rounds_of
from mechlearn_zoo.tasks.bodies.rollouts import ENVIRONMENTS, Environment
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import same_stream


@dataclass(frozen=True)
class Config:
    """Settings of one run; training, networks and data are those of `distill-mujoco`."""

    seed: int = 0
    """First seed: of the initial weights, the split, the batches and the noise. All seeds share the examples."""
    environment: Environment = "Walker2d"
    """Which body, where one is run; figure 4.9 shows Walker2d."""
    environments: tuple[Environment, ...] = ()
    """Bodies, one after the other, as in figure 8 of the paper; none: the one above."""
    variants: Annotated[tuple[str, ...], MinLen(1)] = ("ldt", "untrained", "permuted", "noise-16", "redrawn", *OTHERS)
    """What to train: names of `ABLATED`, `PARTS`, `SEEING` and `OTHERS`, noise-n with any n from 1 to 16."""
    size: Scale = "quick"
    """The preset of `distill-mujoco` whose data, networks and settings are used."""
    rounds: Count = 160
    """Meta-steps, each followed by 24 ordinary steps of the student; variants without a meta-step take as many steps."""
    coefficients: Annotated[tuple[Annotated[float, Ge(0)], ...], MinLen(1)] = (0.01, 1.0)
    """Teaching coefficients of the fixed random teacher."""
    temperatures: Annotated[tuple[Positive, ...], MinLen(1)] = (1.0, 4.0)
    """Temperatures of generalised distillation's soft labels."""
    imitations: Annotated[tuple[Share, ...], MinLen(1)] = (0.5, 0.9)
    """Its imitation parameters: the weight of the soft labels against the true ones."""
    grid_lr: tuple[Positive, ...] = ()
    """Learning rates of no teacher (table C.2: 1e-3, 1e-2); none: it trains as a student of LDT does, without a grid."""
    grid_decay: Annotated[tuple[Annotated[float, Ge(0)], ...], MinLen(1)] = (0.0,)
    """Its weight decays, where it has a grid (table C.2: 0, 1e-5, 1e-4)."""
    grid_batch: Counts = (16, 32)
    """Its batch sizes, where it has a grid (table C.2: 8, 16, 32)."""

    def __post_init__(self) -> None:
        check_limits(self)
        if len(set(self.environments)) < len(self.environments):
            raise ValueError(f"environments should be different ones. Found {self.environments}.")
        for variant in self.variants:
            if variant not in LABELS and not noise_frames(variant):
                raise ValueError(f"variants should be of {', '.join(LABELS)}, or noise-n. Found {variant!r}.")
        examples = TRAININGS[self.size].train
        if max(self.grid_batch) > examples:
            why = "it comes from the training examples"
            raise ValueError(f"grid_batch should be at most {examples}: {why}. Found {max(self.grid_batch)}.")
        if not self.grid_lr and (self.grid_decay, self.grid_batch) != (Config.grid_decay, Config.grid_batch):
            found = f"{self.grid_decay} and {self.grid_batch}"
            raise ValueError(f"grid_decay and grid_batch need a grid_lr: without one there is no grid. Found {found}.")

    @property
    def bodies(self) -> tuple[Environment, ...]:
        """Which bodies are run."""
        return self.environments or (self.environment,)


# Table C.2, as `distill-mujoco` has it, but for the decays.
_GRID: dict[str, Any] = {"grid_lr": (1e-3, 1e-2), "grid_batch": (8, 16, 32)}

PRESETS = {
    "quick": Preset(Config(grid_lr=(1e-3, 1e-2)), seeds=3),
    # Figure 4.9 with the printed teacher, unroll and step sizes, and two fifths of paper's rounds, as distill-mujoco's.
    "faithful": Preset(
        Config(
            seed=100,
            variants=("ldt", "untrained", "permuted", "noise-16", "redrawn", "no-teacher"),
            size="paper",
            rounds=400,
            **_GRID,
            grid_decay=(0.0, 1e-4),
        ),
        seeds=6,
    ),
    # Appendix C.2.2.2's choices, one at a time, on Walker2d.
    "parts": Preset(Config(seed=100, variants=("ldt", *PARTS), rounds=100), seeds=6),
    # What the teacher is given: the actions, too (a footnote of that appendix), or noise for the last frames.
    "inputs": Preset(
        Config(
            seed=100,
            variants=("ldt", "actions", "noise-4", "noise-8", "noise-16", "no-teacher"),
            rounds=100,
            grid_lr=(1e-3, 1e-2),
        ),
        seeds=6,
    ),
    # Figure 8 of the paper: the other bodies.
    "bodies": Preset(
        Config(
            seed=100,
            environments=("Swimmer", "Hopper", "HalfCheetah"),
            variants=("ldt", "untrained", "permuted", "noise-16", "redrawn", "no-teacher"),
            rounds=100,
        ),
        seeds=6,
    ),
    "paper": Preset(
        Config(
            environments=ENVIRONMENTS,
            variants=(*ABLATED, *OTHERS),
            size="paper",
            rounds=1000,
            coefficients=(0.001, 0.01, 0.1, 1.0, 10.0),
            temperatures=(1.0, 2.0, 5.0, 10.0),
            imitations=(0.25, 0.5, 0.75, 1.0),
            **_GRID,
            grid_decay=(0.0, 1e-5, 1e-4),
        ),
        seeds=8,
    ),
}


def trials(config: Config) -> list[Trial]:
    """Return all training runs of a config."""
    found: list[Trial] = []
    for variant in config.variants:
        if variant == "random-teacher":
            found += [Trial(variant, coefficient=coefficient) for coefficient in config.coefficients]
        elif variant == "generalised":
            pairs = product(config.temperatures, config.imitations)
            found += [Trial(variant, temperature=t, imitation=share) for t, share in pairs]
        elif variant == "no-teacher" and config.grid_lr:
            points = product(config.grid_lr, config.grid_decay, config.grid_batch)
            found += [Trial(variant, lr=lr, decay=decay, batch=batch) for lr, decay, batch in points]
        else:
            found.append(Trial(variant))
    return found


def training_of(config: Config) -> Training:
    """Return how the students are trained."""
    return replace(TRAININGS[config.size], seed=config.seed, rounds=config.rounds)


def run(config: Config) -> Iterator[Row]:
    """Yield every training run's curve and summary."""
    training, every = training_of(config), trials(config)
    for body, environment in enumerate(config.bodies):
        data = bodies.make_data(training, environment)
        for place, trial in enumerate(every, start=body * len(every)):
            row: Row = {"environment": environment, "place": place, **trial.columns()}
            looks = measure(training, data, PRINTED[environment], trial)
            yield from part(f"{environment}, {place}", bodies.rows_of(looks, row))


def measure(training: Training, data: PrivilegedData, printed: bodies.Printed, trial: Trial) -> Iterator[bodies.Look]:
    """Train one student and look at its errors now and then."""
    student = parts.make_student(training, data.train.x.shape[1], trial.variant)
    if trial.batch:
        steps = train_plainly(training, student, data.train, Setting(trial.lr, trial.decay, trial.batch, 0.0))
    elif trial.variant in OTHERS:
        steps = train_other(training, student, data.train, trial)
    else:
        steps = train_ablated(training, student, data.train, printed, trial.variant)
    # With a grid as in `distill-mujoco`, where this is the same student; without one as the records were made.
    with flushed_denormals(trial.batch > 0):
        yield from bodies.watch(student, data, steps, training.every, training.rounds)


def train_ablated(
    training: Training, student: nn.Sequential, data: Part, printed: bodies.Printed, variant: str
) -> Iterator[int]:
    """Train a student in place with LDT or an ablation of it; yield after every round."""
    generator = same_stream(training.seed)
    examples = parts.with_actions(data) if variant in SEEING else with_other_trajectories(data, variant, generator)
    splitting = "redrawn" if variant == "redrawn" else "fixed"
    distillation = (
        parts.make_distillation(training, student, examples, printed, variant)
        if variant in PARTS
        else bodies.make_distillation(training, student, examples, printed, splitting)
    )
    take = distillation.student_steps if variant == "untrained" else distillation.step
    yield from rounds_of(take, training.rounds, training.student_steps)


def train_other(training: Training, student: nn.Sequential, data: Part, trial: Trial) -> Iterator[int]:
    """Train a student in place on all examples with targets that never change; yield after every round."""
    generator = same_stream(training.seed)
    optimizer = torch.optim.Adam(student.parameters(), training.student_lr)
    batches = Stream(torch.arange(len(data.y)), training.batch, generator)
    losses = losses_of(training, student, data, trial)
    yield from ordinary_steps(losses, batches, optimizer, training.rounds * training.student_steps, training.student_steps)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a run with meta-steps counts as eight without."""
    costs = [1.0 if trial.variant in (*OTHERS, "untrained") else 8.0 for trial in trials(config)]
    costs *= len(config.bodies)
    place = int(number(row, "place"))
    steps = config.rounds * TRAININGS[config.size].student_steps
    part = number(row, "step") / steps if row["kind"] == "curve" else 1.0
    return (sum(costs[:place]) + part * costs[place]) / sum(costs), f"{row['variant']}  error {number(row, 'selection'):.4f}"
