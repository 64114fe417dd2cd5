"""Digits with wrong labels, by the share of them and the number of images: averaging and the AND-mask, both stopped early.

Equally many trials for both. What stops and selects is one of two sets of validation images: with their true labels, which
nobody has who has wrong ones, or with as many wrong ones as the training images.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Interval, MinLen

from claimlab import Positive, Preset, Row, Share, check_limits, checkpoint, number
from mechlearn.agreement import AndMask, Mean
from mechlearn_zoo.experiments.agreement.per_example import ALL_DIGITS, WIDTHS, Training, accuracy, fit, load, make_model
from mechlearn_zoo.tasks.pictures.digits import CLASSES
from mechlearn_zoo.tasks.pictures.images import Images, with_random_labels
from mechlearn_zoo.tasks.streams import same_stream

Size = Annotated[int, Interval(ge=80, le=ALL_DIGITS), "a batch has 80, and the other digits are for validation and test"]
Part = Annotated[float, Interval(gt=0, lt=1), "some labels are wrong and some are right"]


@dataclass(frozen=True)
class Config:
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

    def __post_init__(self) -> None:
        check_limits(self)

    def trials(self) -> list[tuple[str, float, float]]:
        """Return each trial's method, threshold (0 for averaging) and learning rate."""
        masks = [("and-mask", threshold, rate) for threshold in self.thresholds for rate in self.mask_rates]
        return [("mean", 0.0, rate) for rate in self.mean_rates] + masks

    def cells(self) -> list[tuple[int, float]]:
        """Return each number of images with each share of wrong labels."""
        return [(size, noise) for size in self.sizes for noise in self.noises]


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # A network and a number of images nearer to the texts', who name one share of wrong labels.
    "paper": Preset(Config(sizes=(480, 1000), width=WIDTHS["paper"], looks=40), seeds=6),
}


def run(config: Config) -> Iterator[Row]:
    """Yield learning curves of each cell and trial; the last point is marked final."""
    for size, noise in config.cells():
        data = load("digits", "", config.seed, size)
        generator = same_stream(config.seed)
        noisy, wrong = with_random_labels(data.train.y, noise, CLASSES, generator)
        doubted, _ = with_random_labels(data.validation.y, noise, CLASSES, generator)
        mislabelled = Images(data.train.x[wrong], noisy[wrong])
        for method, threshold, learning_rate in config.trials():
            saved = checkpoint(f"{size} with {noise}, {method}, threshold {threshold}, learning rate {learning_rate}")
            yield from saved.values
            if saved.finished:
                continue
            trial = Training(config.seed, config.width, learning_rate, config.drops, config.epochs)
            model = make_model(trial, data.train.x.shape[1])
            rule = AndMask(threshold) if method == "and-mask" else Mean()
            for _ in fit(model, rule, data.train, noisy, trial, saved):
                epoch = saved.done + 1
                if epoch % max(1, config.epochs // config.looks) and epoch not in (1, 2, 3, config.epochs):
                    saved.keep(epoch)
                    continue
                row: Row = {
                    "kind": "final" if epoch == config.epochs else "curve",
                    "images": size,
                    "noise": noise,
                    "method": method,
                    "threshold": threshold,
                    "learning_rate": learning_rate,
                    "epoch": epoch,
                    "fitted_wrong": accuracy(model, mislabelled, mislabelled.y),
                    "clean": accuracy(model, data.validation, data.validation.y),
                    "noisy": accuracy(model, data.validation, doubted),
                    "test": accuracy(model, data.test, data.test.y),
                }
                yield saved.keep(epoch, row)
            saved.finish()


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    cells, trials = config.cells(), config.trials()
    cell = cells.index((int(number(row, "images")), number(row, "noise")))
    trial = trials.index((str(row["method"]), number(row, "threshold"), number(row, "learning_rate")))
    done = (cell + (trial + number(row, "epoch") / config.epochs) / len(trials)) / len(cells)
    return done, f"{row['images']} images, {100 * number(row, 'noise'):g} % redrawn, {row['method']}"
