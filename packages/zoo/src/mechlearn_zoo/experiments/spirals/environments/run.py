"""Averaging and the AND-mask on the spirals, each with several numbers of environments.

More environments make the shortcuts worse: with one vector each, a separating direction has to serve all of them at once.
Averaging switches to the mechanism when there are so many that shortcuts no longer pay.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, MinLen

from claimlab import EarlyStopping, Preset, Row, check_limits
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import Method, rule_of
from mechlearn_zoo.learners.spirals.stopping import looked_at

Counts = Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)]
"""Numbers of environments."""


@dataclass(frozen=True)
class Config:
    """Settings of the trials; whatever is not named here is as in a preset of `spirals`."""

    seed: int = 0
    """First seed: of the data, the initial weights and the batches."""
    board: training.Scale = "quick"
    """Preset of `spirals` for network, optimiser and data."""
    mean_counts: Counts = (16, 256, 1024)
    """Numbers of environments to average over."""
    mask_counts: Counts = (4, 8, 16)
    """Numbers of environments for the AND-mask."""
    examples: Annotated[int, Ge(1)] = 16_384
    """Training examples of all environments together, the same for every number of environments."""
    per_step: Annotated[int, Ge(1)] = 2048
    """Examples of all environments together in a step."""
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the training data."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.per_step > self.examples:
            raise ValueError(
                f"per_step should be at most {self.examples}: a step is part of the examples. Found {self.per_step}."
            )
        most = max(*self.mean_counts, *self.mask_counts)
        if most > self.per_step:
            why = "every environment is in a step"
            raise ValueError(f"mean_counts and mask_counts should be at most {self.per_step}: {why}. Found {most}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # With which number averaging succeeds first, on fresh seeds, and the mask's 16 beside it.
    "first": Preset(Config(seed=100, mean_counts=(256, 512, 1024), mask_counts=(16,)), seeds=6),
    # The same at the texts' size, where the mask has their 32.
    "paper-first": Preset(
        Config(
            seed=200,
            board="paper",
            mean_counts=(256, 512, 1024),
            mask_counts=(32,),
            examples=32 * 1280,
            per_step=32 * 256,
            epochs=2 * (3000 // 32),
        ),
        seeds=6,
    ),
    # The texts' 1280 examples each at 1024 environments, in about as many steps.
    "printed-data": Preset(
        Config(
            seed=300,
            board="paper",
            mean_counts=(512, 1024),
            mask_counts=(32,),
            examples=1024 * 1280,
            per_step=32 * 256,
            epochs=6,
        ),
        seeds=6,
    ),
    # As many examples as the texts' 32 environments x 1280 have together; their 1280 each would be 1.3 million at 1024.
    "paper": Preset(
        Config(
            board="paper",
            mean_counts=(2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
            mask_counts=(2, 4, 8, 16, 32),
            examples=32 * 1280,
            per_step=32 * 256,
            epochs=2 * (3000 // 32),
        ),
        seeds=5,
    ),
}


def trials(config: Config) -> list[tuple[Method, int]]:
    """Return each trial's method and number of environments."""
    return [*(("mean", count) for count in config.mean_counts), *(("and-mask", count) for count in config.mask_counts)]


def training_of(config: Config, count: int) -> training.Training:
    """Return the settings of a trial with so many environments, each with its part of the data and of the batch."""
    return replace(
        training.TRAININGS[config.board],
        seed=config.seed,
        environments=count,
        examples=config.examples // count,
        batch=config.per_step // count,
        epochs=config.epochs,
    )


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method and number of environments."""
    for method, count in trials(config):
        settings = training_of(config, count)
        data, model = training.make_data(settings), training.make_model(settings)
        steps, stopping = training.steps_of(settings), EarlyStopping()
        reports = training.train(settings, model, rule_of(method, settings), data.train, every=max(1, steps // 20))
        *_, last = looked_at(reports, steps, stopping, model, data)
        yield {
            "method": method,
            "environments": count,
            "steps": last.step,
            "train_loss": last.train_loss,
            "train_accuracy": last.train_accuracy,
            "validation_accuracy": training.accuracy(model, data.validation),
            "test_accuracy": training.accuracy(model, data.test),
            **stopping.row,
        }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    names = [f"{method}, {count} environments" for method, count in trials(config)]
    name = f"{row['method']}, {row['environments']} environments"
    return (names.index(name) + 1) / len(names), name
