"""Teachers are trained in two worlds, and read: how much of each layer's targets comes from which frame.

In the Game of Life the right answer is known: the last layer of generation g is served by the board after generation g,
whichever place that has among the shuffled frames. On a simulated body it is not; but frames that are replaced by noise can
serve nobody.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge, MinLen
from torch import Generator

from claimlab import Limited, Preset, Row
from mechlearn.distill import Distillation, Examples, Lesson, Reading, Unrolling, read_teacher, split_rows
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.bodies import with_other_trajectories
from mechlearn_zoo.experiments.distill.life import networks
from mechlearn_zoo.experiments.distill.training import Count
from mechlearn_zoo.tasks.bodies.rollouts import Environment
from mechlearn_zoo.tasks.pictures.life import LifeData, life
from mechlearn_zoo.tasks.streams import same_stream

World = Literal["life", "body"]

LIFE = networks.Setting(
    lr=4e-3,
    beta1=0.8,
    decay=0.0,
    batch=48,
    multiplier=1.8,
    filters=12,
    alpha=250.0,
    inner_steps=16,
    meta_lr=100.0,
    meta_momentum=0.9,
    validation=0.3,
)
"""In the middle of the ranges that `distill-life` searches."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 0
    """First seed: of boards, weights, splits, batches and the reader's signs."""
    worlds: Annotated[tuple[World, ...], MinLen(1)] = ("life", "body")
    """The Game of Life, a simulated body."""
    boards: Annotated[int, Ge(16)] = 2048
    """Training boards, of 7 x 7 cells."""
    life_rounds: Count = 96
    """Meta-steps in the Game of Life, each followed by 32 ordinary steps."""
    environment: Environment = "Swimmer"
    """Which body."""
    body_rounds: Count = 100
    """Meta-steps on the body, each followed by 24 ordinary steps."""
    examples: Count = 4000
    """Training examples of the body."""
    noise: Annotated[int, Ge(1)] = 8
    """How many of the body's last frames are noise in one of its two data sets."""
    read: Count = 200
    """Held-out trajectories that a teacher is read on."""
    probes: Count = 32
    """Random signs of a reading."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(boards=8192, life_rounds=960, body_rounds=1000, read=1000, probes=128), seeds=8),
}


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each world, data set, teacher, layer and frame."""
    for world in config.worlds:
        yield from (life_rows if world == "life" else body_rows)(config)


def life_rows(config: Config) -> Iterator[Row]:
    """Read an untrained teacher of the Game of Life, a trained one and the oracle; frames are put into order of time."""
    data = life(config.seed, config.boards, 7)
    student = networks.Student(LIFE, same_stream(config.seed))
    distillation = of_life(config, student, data)
    test = data.data.test
    majority = float(max(test.y.mean(), 1 - test.y.mean()))
    for teacher in ("untrained", "trained", "oracle"):
        if teacher == "trained":
            for _ in range(config.life_rounds):
                distillation.step(32)
        lesson = distillation.lesson
        if teacher == "oracle":
            oracle = networks.make_teacher("oracle", LIFE, data, Generator(), "third")
            lesson = replace(lesson, teacher=oracle)
        reading = read(config, lesson, data.data.selection.privileged)
        row: Row = {"world": "life", "data": "plain", "teacher": teacher}
        if teacher == "trained":
            row |= {"accuracy": networks.accuracy(student, test), "majority": majority}
        yield from rows_of(reading._replace(used=reading.used[:, data.frame_of_step]), row)


def of_life(config: Config, student: networks.Student, data: LifeData) -> Distillation:
    """Return LDT in the Game of Life as `distill-life` has it, with the settings `LIFE`."""
    generator = same_stream(config.seed)
    teacher = networks.make_teacher("meta", LIFE, data, same_stream(config.seed), "third")
    examples = data.data.train
    return Distillation(
        Lesson(student, teacher, list(teacher.filters), networks.label_loss, LIFE.alpha),
        Examples(*examples),
        split_rows(len(examples.y), LIFE.validation, generator),
        Unrolling("student", LIFE.inner_steps, min(LIFE.batch, len(examples.y) // 2), "student"),
        torch.optim.Adam(student.parameters(), LIFE.lr, betas=(LIFE.beta1, 0.999)),
        torch.optim.SGD(teacher.parameters(), LIFE.meta_lr, momentum=LIFE.meta_momentum),
        generator,
    )


def body_rows(config: Config) -> Iterator[Row]:
    """Read teachers of a body before and after training, of its trajectories and of those whose last frames are noise."""
    training = replace(
        bodies.TRAININGS["quick"], seed=config.seed, train=config.examples, selection=max(config.read, 2), test=100
    )
    data = bodies.make_data(training, config.environment)
    for name in ("plain", f"noise-{config.noise}"):
        train, held = (
            with_other_trajectories(part, name, same_stream(config.seed + place))
            for place, part in enumerate((data.train, data.selection))
        )
        student = bodies.make_student(training, train.x.shape[1])
        distillation = bodies.make_distillation(training, student, train, bodies.PRINTED[config.environment])
        for teacher in ("untrained", "trained"):
            if teacher == "trained":
                for _ in range(config.body_rounds):
                    distillation.step(training.student_steps)
            row: Row = {"world": "body", "data": name, "teacher": teacher}
            yield from rows_of(read(config, distillation.lesson, held.privileged), row)


def read(config: Config, lesson: Lesson, privileged: torch.Tensor) -> Reading:
    """Read a teacher on some trajectories."""
    generator = same_stream(config.seed)
    return read_teacher(lesson, privileged[: config.read], probes=config.probes, generator=generator)


def rows_of(reading: Reading, row: Row) -> Iterator[Row]:
    """Yield the share of each frame in each layer, and of all layers' mass."""
    shares, gates = reading.shares.tolist(), reading.gates.tolist()
    total = reading.used.sum()
    for layer, used in enumerate(reading.used):
        for frame, mass in enumerate(used):
            of_all = float(mass / total)
            yield {**row, "layer": layer, "frame": frame, "share": shares[layer][frame], "of_all": of_all, "gate": gates[layer]}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is, in teachers read."""
    costs = {"life": {"plain": 1.0}, "body": {"plain": 1.0, f"noise-{config.noise}": 1.0}}
    parts = [(world, data) for world in config.worlds for data in costs[world]]
    place = parts.index((str(row["world"]), str(row["data"])))  # pyright: ignore[reportArgumentType]  # words of ours
    done = 0.0 if row["teacher"] == "untrained" else 1.0
    return (place + done) / len(parts), f"{row['world']}, {row['data']}, {row['teacher']}"
