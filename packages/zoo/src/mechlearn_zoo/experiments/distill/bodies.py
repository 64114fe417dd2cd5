"""Students of simulated bodies: their settings, networks and data, LDT with the printed settings, looks at their errors."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge
from torch import nn

from claimlab import Limited, Positive, Row, Rows, Saved
from mechlearn.distill import SGD, Distillation, Examples, GatedSquaredError, Lesson, UnitsTeacher, Unrolling, split_rows
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import Count, Counts, label_loss, now_and_then
from mechlearn_zoo.nn.convolutions import trajectory_network
from mechlearn_zoo.tasks.bodies.mujoco import Sizes, mujoco
from mechlearn_zoo.tasks.bodies.quantiles import BINS, bin_errors
from mechlearn_zoo.tasks.bodies.rollouts import STEPS, AliveBonus, Environment
from mechlearn_zoo.tasks.generation import progress_bar
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import same_stream


class Printed(NamedTuple):
    """Table C.5: the settings of LDT that the authors found best for an environment."""

    meta_beta1: float
    log10_alpha: float
    validation: float


PRINTED: dict[Environment, Printed] = {
    "Swimmer": Printed(0.9, 2.5, 0.3),
    "Walker2d": Printed(0.9, 3.0, 0.5),
    "Hopper": Printed(0.0, 2.5, 0.3),
    "HalfCheetah": Printed(0.0, 2.5, 0.7),
}


@dataclass(frozen=True)
class Training(Limited):
    """Settings of one student's training; what table C.5 says for each environment is in `PRINTED`."""

    seed: int = 0
    """First seed: of the initial weights, the split and the batches. All seeds share an environment's examples."""
    data_seed: Annotated[int, Ge(0)] = 0
    """Seed of the simulated examples."""
    train: Count = 4000
    """Training examples; LDT splits its validation part off these, the others train on all."""
    selection: Count = 2000
    """Examples apart from training and test, on which settings and the time to stop are selected."""
    test: Count = 4000
    """Test examples."""
    alive_bonus: AliveBonus = "always"
    """Whether Walker2d's and Hopper's bonus is paid always, as in -v2, or only while healthy, as in -v5."""
    rounds: Count = 200
    """Meta-steps, each followed by the student's ordinary steps; the others take as many ordinary steps."""
    inner_steps: Count = 16
    """n, the steps of an unroll; table C.6 has 96."""
    student_steps: Count = 24
    """N, ordinary steps after each meta-step (table C.6)."""
    batch: Count = 24
    """Examples of a step of LDT, inner or ordinary (table C.6)."""
    inner_lr: Positive = 1e-2
    """Learning rate of the inner SGD (table C.5); its momentum is 0.75 and its L2 1e-8 (table C.6)."""
    meta_lr: Positive = 5e-4
    """Learning rate of the teacher's Adam (table C.6); its beta1 is in `PRINTED`."""
    student_lr: Positive = 1e-3
    """Learning rate of the student's Adam with LDT (table C.6)."""
    teacher_channels: Counts = (32, 32, 32, 64)
    """Channels of the teacher's convolutions over time; table C.6 has 96, 96, 96, 256."""
    teacher_hidden: Count = 256
    """Units of the teacher's hidden layer; table C.6 has 768."""
    student_widths: Counts = (128, 128, 128, 128, 128)
    """Units of the student's hidden layers, all supervised."""
    nonfinite: Literal["raise", "skip", "zero"] = "raise"
    """What becomes of a training with a teacher whose unroll diverges, or whose meta-gradient is no number: it ends, or goes on
    without that step of the teacher, or with zeros in their place, as the released code's would."""
    every: Count = 10
    """Rounds between two looks at selection and test examples."""


Scale = Literal["quick", "paper"]

TRAININGS: dict[Scale, Training] = {
    # A smaller teacher, and an unroll of 16 instead of 96.
    "quick": Training(),
    "paper": Training(test=10_000, rounds=1000, inner_steps=96, teacher_channels=(96, 96, 96, 256), teacher_hidden=768),
}
"""How `distill-mujoco` trains at either scale; `distill-ablations` changes some of it."""


def make_data(config: Training, environment: Environment) -> PrivilegedData:
    """Simulate an environment's examples, with a progress bar, or read them from the cache."""
    bar = progress_bar(f"simulating {environment}") if sys.stderr.isatty() else None
    sizes = Sizes(config.train, config.selection, config.test)
    return mujoco(environment, config.data_seed, sizes, config.alive_bonus, on_progress=bar)


def make_student(config: Training, inputs: int) -> nn.Sequential:
    """Return the student of a config's seed: ReLU layers and a linear one, all with weight norm."""
    generator = same_stream(config.seed)
    return relu_mlp((inputs, *config.student_widths, BINS), generator, weight_norm=True)


def make_teacher(config: Training, features: int) -> UnitsTeacher:
    """Return the teacher of a config's seed: a target and a gate for each hidden unit of the student."""
    generator = same_stream(config.seed)
    units = {str(2 * layer): width for layer, width in enumerate(config.student_widths)}
    outputs = 2 * sum(config.student_widths)
    network = trajectory_network(features, STEPS, config.teacher_channels, config.teacher_hidden, outputs, generator)
    return UnitsTeacher(network, units, gated=True)


def make_distillation(
    config: Training, student: nn.Sequential, examples: Part, printed: Printed, splitting: Literal["fixed", "redrawn"] = "fixed"
) -> Distillation:
    """Return LDT's step object with the printed settings and a new teacher."""
    generator = same_stream(config.seed)
    teacher = make_teacher(config, examples.privileged.shape[2])
    return Distillation(
        Lesson(student, teacher, list(teacher.shapes), label_loss, 10**printed.log10_alpha, GatedSquaredError()),
        Examples(*examples),
        split_rows(len(examples.y), printed.validation, generator, splitting),
        Unrolling(
            SGD(config.inner_lr, momentum=0.75, weight_decay=1e-8), config.inner_steps, config.batch, nonfinite=config.nonfinite
        ),
        torch.optim.Adam(student.parameters(), config.student_lr),
        torch.optim.Adam(teacher.parameters(), config.meta_lr, betas=(printed.meta_beta1, 0.999)),
        generator,
    )


class Look(NamedTuple):
    """A student's errors at one time (thesis appendix C.2.2.1: squared error of the expected bin)."""

    measured: Measured
    training: float
    lost: int | None = None
    """Meta-steps until then whose meta-gradient was not all numbers, where they are counted."""

    @property
    def counted(self) -> Row:
        """The column of what was lost, where it is counted."""
        return {} if self.lost is None else {"lost": self.lost}


def watch(
    student: nn.Module, data: PrivilegedData, steps: Iterable[int], every: int, rounds: int, saved: Saved | None = None,
    lost: list[int] | None = None,
) -> Iterator[Look]:  # fmt: skip
    """Let a student train, and look at its errors every so many rounds and at the end.

    Args:
        student: what is trained.
        data: all its parts are looked at.
        steps: train it by a round each, from where it is.
        every: rounds between two looks.
        rounds: how many in all.
        saved: where it goes on, in rounds; every look is kept, and the error that ended a training.
        lost: how many meta-steps were lost so far, counted by what trains; None where one ends a training.

    Raises:
        FloatingPointError: an error that is no number; what `steps` raise.
    """
    saved = saved or Saved()
    for value in saved.values:
        if isinstance(value, str):
            raise FloatingPointError(value)
        yield Look(Measured(*value[:3]), *value[3:])
    try:
        yield from _looks(student, data, steps, every, rounds, saved, lost)
    except FloatingPointError as error:
        saved.finish(str(error))  # a seed that goes on does not train on from where this one was lost
        raise
    saved.finish()


def _looks(
    student: nn.Module, data: PrivilegedData, steps: Iterable[int], every: int, rounds: int, saved: Saved,
    lost: list[int] | None,
) -> Iterator[Look]:  # fmt: skip
    for step in now_and_then(steps, every, rounds, saved.done):
        errors = [mean_error(student, split) for split in (data.selection, data.test, data.train)]
        if not all(isfinite(error) for error in errors):
            raise FloatingPointError(f"The student's errors should be finite. Found {errors} after {step} steps.")
        look = Look(Measured(step, errors[0], errors[1]), errors[2], None if lost is None else lost[0])
        saved.keep(min(saved.done + every, rounds), [*look.measured, look.training, *look.counted.values()])
        yield look


def mean_error(student: nn.Module, examples: Part) -> float:
    """Return the mean squared error of the expected bin."""
    with torch.no_grad():
        return float(bin_errors(student(examples.x), examples.y).mean())


LOST = Look(Measured(0, 1.0, 1.0), 1.0)
"""What stands for a student that was lost before its first look: the greatest error there is."""


def rows_of(looks: Iterator[Look], row: Row) -> Iterator[Row]:
    """Yield a row for each look and one for the whole training run; a run that diverges ends at its last look, and says so."""
    seen: list[Look] = []
    diverged = ""
    try:
        for look in looks:
            seen.append(look)
            yield {"kind": "curve", **row, **look.measured._asdict(), "training": look.training, **look.counted}
    except FloatingPointError as error:
        diverged = str(error)
    seen = seen or [LOST]
    found = summary([look.measured for look in seen], min)
    at = next(look for look in seen if look.measured.step == found["selected_step"])
    gap = at.measured.test - at.training
    yield {"kind": "final", **row, **found, "training": at.training, "gap": gap, "diverged": diverged, **seen[-1].counted}


def looks_of(rows: Rows, finals: Rows) -> Rows:
    """Return the looks of the training runs that some of `rows_of`'s final rows sum up."""
    curves = rows.where(kind="curve")
    return Rows(row for final in finals for row in curves.where(place=final["place"], seed=final["seed"]))


def noise_frames(variant: str) -> int:
    """Return the n of noise-n, 0 for any other name."""
    name, _, count = variant.partition("-")
    return int(count) if name == "noise" and count.isdigit() and 1 <= int(count) <= STEPS else 0


def with_other_trajectories(examples: Part, variant: str, generator: torch.Generator) -> Part:
    """Return the examples with their privileged data permuted in time, each in an order of its own, or partly noise."""
    privileged = examples.privileged
    if variant == "permuted":
        order = torch.rand(privileged.shape[:2], generator=generator).argsort(dim=1)
        return examples._replace(privileged=privileged.gather(1, order[..., None].expand_as(privileged)))
    last = noise_frames(variant)
    if last:
        noise = torch.randn(privileged[:, -last:].shape, generator=generator)
        return examples._replace(privileged=torch.cat([privileged[:, :-last], noise], dim=1))
    return examples
