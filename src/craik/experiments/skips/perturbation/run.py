"""Training that begins on boards without bounce and goes on, after a switch, on the standard ones.

Where a ball lands hardly changes, only how it gets there. A model that may skip the bouncing has little to relearn.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

from annotated_types import Ge, Interval, MinLen

from craik.experiments.skips import training as skips
from craik.experiments.skips.outcomes import label_accuracy
from craik.experiments.skips.training import Method, Settings, World
from craik.lab import Preset, Row, number


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run: those of `skips-accuracy`, with a switch."""

    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "fixed-2", "fixed-3")
    """What to compare."""
    evaluations: Annotated[int, Ge(1)] = 30_000
    """Model evaluations that each method may spend."""
    switch: Annotated[float, Interval(gt=0, lt=1)] = 0.6
    """Share of them after which the standard boards replace those without bounce; the thesis switches at half of 150 epochs."""
    checks: Annotated[int, Ge(2)] = 10
    """How often, evenly spaced in evaluations, accuracy is measured on standard validation boards."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task != "funnel-board":
            raise ValueError(f"task should be funnel-board: only its physics has a variant. Found {self.task}.")
        if self.checks > self.evaluations:
            rule = f"between 2 and {self.evaluations}: they are spread over the evaluations"
            raise ValueError(f"checks should be {rule}. Found {self.checks}.")


PRESETS = {
    # The rate falls before the switch, as in the thesis: after 15,000 of 18,750 steps at most.
    "quick": Preset(Config(decay_evaluations=12_000), seeds=3),
    "paper": Preset(
        Config(
            **asdict(skips.PUBLISHED),
            methods=("asi", "asi-no-exploration", "fixed-1", "fixed-2"),
            evaluations=9_000_000,
            switch=0.5,
            checks=150,
        ),
        seeds=8,
    ),
}


def run(config: Config) -> Iterator[Row]:
    """Train with each method; yield accuracy on standard validation boards, before and after the switch."""
    perturbed = skips.make_world(config, "train", config.episodes, perturbed=True)
    standard = skips.make_world(config, "train", config.episodes)
    validation = skips.make_world(config, "validation", config.validation_episodes)
    switch = round(config.switch * config.evaluations)
    for method in config.methods:
        model = skips.make_model(config, standard)
        every = config.evaluations // config.checks
        for report in skips.train(config, method, model, partial(_before_or_after, perturbed, standard, switch), every):
            accuracy = label_accuracy(model, validation, config.max_steps)
            row: Row = {"method": method, "after": report.evaluations > switch + every // 2, **report._asdict()}
            yield row | accuracy._asdict() | {"switch": switch, "budget": config.evaluations}
            if report.evaluations >= config.evaluations:
                break


def _before_or_after(perturbed: World, standard: World, switch: int, spent: int) -> World:
    return perturbed if spent < switch else standard


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    before = [str(method) for method in config.methods].index(str(row["method"]))
    done = min(1.0, number(row, "evaluations") / config.evaluations)
    return (before + done) / len(config.methods), f"{row['method']}  accuracy {number(row, 'accuracy'):.2f}"
