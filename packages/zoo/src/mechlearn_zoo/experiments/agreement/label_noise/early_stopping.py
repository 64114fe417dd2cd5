"""Digits with wrong labels, by the share of them and the number of images: averaging and the AND-mask, both stopped early.

Equally many trials for both. What stops and selects is one of two sets of validation images: with their true labels, which
nobody has who has wrong ones, or with as many wrong ones as the training images.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Interval, MinLen

from claimlab import Limited, Positive, Preset, Row, Share, number
from mechlearn_zoo.experiments.agreement.label_noise.run import Trained, curve, mislabelled, rule_of
from mechlearn_zoo.experiments.agreement.per_example import ALL_DIGITS, WIDTHS, Training, load
from mechlearn_zoo.tasks.streams import same_stream

Size = Annotated[int, Interval(ge=80, le=ALL_DIGITS), "a batch has 80, and the other digits are for validation and test"]
Part = Annotated[float, Interval(gt=0, lt=1), "some labels are wrong and some are right"]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of the trials; network, batch and weight decay are those of `memorisation`."""

    seed: int = 100
    """First seed: of the split, the wrong labels, the initial weights and the batches."""
    noises: Annotated[tuple[Part, ...], MinLen(1)] = (0.25, 0.5, 0.75)
    """Shares of the labels that are redrawn at random."""
    sizes: Annotated[tuple[Size, ...], MinLen(1)] = (240, 480)
    """Numbers of training images."""
    thresholds: Annotated[tuple[Share, ...], MinLen(1)] = (0.2, 0.3)
    """The AND-mask's."""
    mask_rates: Annotated[tuple[Positive, ...], MinLen(1)] = (1e-3, 5e-3)
    """The AND-mask's initial learning rates, each with each threshold."""
    mean_rates: Annotated[tuple[Positive, ...], MinLen(1)] = (1e-3, 2.5e-3, 5e-3, 1e-2)
    """Averaging's, so that it has as many trials."""
    epochs: Annotated[int, Ge(1)] = 120
    """Passes over the training images."""
    drops: tuple[Share, ...] = (0.75,)
    """Shares of the training after which the learning rate falls to a tenth; none: it stays."""
    looks: Annotated[int, Ge(1)] = 24
    """Looks at the validation images in a training, besides those after its first three epochs."""
    width: Annotated[int, Ge(1)] = WIDTHS["quick"]
    """Channels of the residual network's first convolution."""

    def trials(self) -> list[tuple[str, float, float]]:
        """Return each trial's method, threshold (0 for averaging) and learning rate."""
        masks = [("and-mask", threshold, rate) for threshold in self.thresholds for rate in self.mask_rates]
        return [("mean", 0.0, rate) for rate in self.mean_rates] + masks

    def cells(self) -> list[tuple[int, float]]:
        """Return each number of images with each share of wrong labels."""
        return [(size, noise) for size in self.sizes for noise in self.noises]


PRESETS = {
    "early-stopping": Preset(Config(), seeds=6),
    # A network and a number of images nearer to the texts', who name one share of wrong labels.
    "early-stopping-paper": Preset(Config(sizes=(480, 1000), width=WIDTHS["paper"], looks=40), seeds=6),
}


def run(config: Config) -> Iterator[Row]:
    """Yield learning curves of each cell and trial; the last point is marked final."""
    for size, noise in config.cells():
        data, generator = load("digits", "", config.seed, size), same_stream(config.seed)
        images, wrong = mislabelled(data.train, noise, generator)
        doubted, _ = mislabelled(data.validation, noise, generator)
        measured = {"fitted_wrong": wrong, "clean": data.validation, "noisy": doubted, "test": data.test}
        for method, threshold, learning_rate in config.trials():
            name = f"{size} with {noise}, {method}, threshold {threshold}, learning rate {learning_rate}"
            trial: Row = {"method": method, "threshold": threshold, "learning_rate": learning_rate}
            training = Training(config.seed, config.width, learning_rate, config.drops, config.epochs)
            trained = Trained(images, rule_of(method, threshold), training, config.looks, measured)
            yield from curve(name, trained, {"images": size, "noise": noise, **trial})


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    cells, trials = config.cells(), config.trials()
    cell = cells.index((int(number(row, "images")), number(row, "noise")))
    trial = trials.index((str(row["method"]), number(row, "threshold"), number(row, "learning_rate")))
    done = (cell + (trial + number(row, "epoch") / config.epochs) / len(trials)) / len(cells)
    return done, f"{row['images']} images, {100 * number(row, 'noise'):g} % redrawn, {row['method']}"
