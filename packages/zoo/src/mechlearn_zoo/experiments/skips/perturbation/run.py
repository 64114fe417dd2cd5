"""Training that begins on boards without bounce and goes on, after a switch, on the standard ones.

Where a ball lands hardly changes, only how it gets there. A model that may skip the bouncing has little to relearn.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Interval, MinLen

from claimlab import Preset, Row, checkpoint, number, part
from mechlearn_zoo.experiments.skips.comparing import training as skips
from mechlearn_zoo.experiments.skips.comparing.outcomes import Budget, label_accuracy
from mechlearn_zoo.experiments.skips.comparing.training import Method, Report, Settings, World

Schedule = Literal["switch", "standard"]
"""Boards without bounce before the switch and the standard ones after it; or, as a control, the standard ones throughout."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run: those of `skips-accuracy`, with a switch."""

    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "fixed-2", "fixed-3")
    """What to compare."""
    evaluations: Annotated[int, Ge(1)] = 30_000
    """Model evaluations that each method may spend."""
    epochs: Annotated[int, Ge(1)] | None = None
    """Passes over the training episodes, the same for every method, to spend instead of evaluations; None for evaluations."""
    switch: Annotated[float, Interval(gt=0, lt=1)] = 0.6
    """Share of them after which the standard boards replace those without bounce; the thesis switches at half of 150 epochs."""
    schedules: Annotated[tuple[Schedule, ...], MinLen(1)] = ("switch",)
    """Which boards to train on when; each method is trained once with each."""
    checks: Annotated[int, Ge(2)] = 10
    """How often, evenly spaced in what is spent, accuracy is measured on standard validation boards."""
    without_bounce: bool = False
    """Measure on validation boards without bounce, too; where the schedule of the control is among them that is done anyhow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task != "funnel-board":
            raise ValueError(f"task should be funnel-board: only its physics has a variant. Found {self.task}.")
        if self.checks > self.budget.total:
            rule = f"between 2 and {self.budget.total}: they are spread over what is spent"
            raise ValueError(f"checks should be {rule}. Found {self.checks}.")

    @property
    def budget(self) -> Budget:
        """What each method may spend on each schedule."""
        return Budget(self.evaluations) if self.epochs is None else Budget(self.epochs * self.episodes, "episodes")


PRESETS = {
    # The rate falls before the switch, as in the thesis: after 15,000 of 18,750 steps at most.
    "quick": Preset(Config(decay_evaluations=12_000), seeds=3),
    # The same in a quarter of the steps: sampling ends after 1,000, the boards change after 1,500 of 2,000.
    "control": Preset(
        Config(
            seed=100,
            episodes=500,
            epochs=8,
            switch=0.75,
            schedules=("switch", "standard"),
            checks=24,
            decay_steps=800,
            sampling_steps=1000,
        ),
        seeds=8,
    ),
    # Equal epochs, with a control. Sampling has ended 500 steps before the switch, the rate has fallen before sampling ends.
    "epochs": Preset(
        Config(
            episodes=500,
            epochs=28,
            switch=0.5,
            schedules=("switch", "standard"),
            checks=28,
            decay_steps=2200,
            sampling_steps=3000,
        ),
        seeds=8,
    ),
    # The published boards at half of their pixels, where labels without bounce are others now and then: what a network that is
    # frozen at the switch has kept. True frames are still fed in there: steps of 3 forget all where these end.
    "half": Preset(
        Config(
            seed=300,
            size="half",
            max_steps=251,
            methods=("fixed-3",),
            episodes=500,
            epochs=15,
            switch=14 / 15,
            checks=15,
            decay_steps=3000,
            sampling_steps=4000,
            without_bounce=True,
        ),
        seeds=6,
    ),
    "paper": Preset(
        Config(
            **asdict(skips.PUBLISHED),
            methods=("asi", "asi-no-exploration", "fixed-1", "fixed-2"),
            epochs=150,
            switch=0.5,
            schedules=("switch", "standard"),
            checks=150,
        ),
        seeds=8,
    ),
}


class Boards(NamedTuple):
    """Episodes to train on and to measure on, with bounce and without; from the same seeds."""

    standard: World
    perturbed: World
    validation: World
    perturbed_validation: World | None

    @property
    def same_labels(self) -> float | None:
        """The share of validation boards on which the ball reaches the same platform with bounce and without."""
        without = self.perturbed_validation
        return None if without is None else float(np.mean(without.episodes.labels == self.validation.episodes.labels))


def make_boards(config: Config) -> Boards:
    """Draw the episodes of a config's seed; validation boards without bounce only where asked for, or for a control."""
    draw = partial(skips.make_world, config)
    asked = config.without_bounce or "standard" in config.schedules
    without = draw("validation", config.validation_episodes, perturbed=True) if asked else None
    perturbed = draw("train", config.episodes, perturbed=True)
    return Boards(draw("train", config.episodes), perturbed, draw("validation", config.validation_episodes), without)


def run(config: Config) -> Iterator[Row]:
    """Train with each method; yield accuracy on standard validation boards, before and after the switch.

    Where these are measured, rows also have the accuracy on validation boards without bounce, the share of these whose label is
    that of the standard board, and the schedule.
    """
    boards = make_boards(config)
    for schedule in config.schedules:
        for method in config.methods:
            yield from part(f"{schedule}, {method}", _train(config, schedule, method, boards))


def _train(config: Config, schedule: Schedule, method: Method, boards: Boards) -> Iterator[Row]:
    total, unit = config.budget
    switch, every = round(config.switch * total), total // config.checks
    model = skips.make_model(config, boards.standard)
    first = boards.perturbed if schedule == "switch" else boards.standard
    worlds = partial(_before_or_after, first, boards.standard, switch)
    saved = checkpoint("training")
    yield from saved.values
    for report in skips.train(config, method, model, worlds, every, unit, saved):
        spent = _spent(config, report)
        row: Row = {"method": method, "after": spent > switch + every // 2, **report._asdict()}
        row |= label_accuracy(model, boards.validation, config.max_steps)._asdict() | {"switch": switch, "budget": total}
        if boards.perturbed_validation is not None:
            without = label_accuracy(model, boards.perturbed_validation, config.max_steps).accuracy
            row |= {"schedule": schedule, "unit": unit, "accuracy_without_bounce": without, "same_labels": boards.same_labels}
        if spent >= total:
            yield row
            break
        yield saved.keep(report.steps, row)


def _spent(config: Config, report: Report) -> int:
    return report.evaluations if config.epochs is None else report.steps * config.batch


def _before_or_after(first: World, standard: World, switch: int, spent: int) -> World:
    return first if spent < switch else standard


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    places = [(schedule, method) for schedule in config.schedules for method in config.methods]
    before = places.index((row.get("schedule", config.schedules[0]), row["method"]))  # pyright: ignore[reportArgumentType] # of a row
    spent = number(row, "evaluations") / config.evaluations if config.epochs is None else number(row, "epochs") / config.epochs
    return (before + min(1.0, spent)) / len(places), f"{row['method']}  accuracy {number(row, 'accuracy'):.2f}"
