"""Networks trained on true and on random labels, at several thresholds of the AND-mask.

Plain training fits random labels as well as true ones (Zhang et al., 2017). Random labels have no mechanism to agree on, so
a mask that asks even a little agreement should stop that, and leave true labels learnable.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, Interval, MinLen
from torch import Tensor, nn

from claimlab import Positive, Preset, Row, Share, check_limits, checkpoint, number
from mechlearn.agreement import AndMask, Mean, Rule
from mechlearn.nn.perceptrons import Dropout
from mechlearn_zoo.experiments.agreement.per_example import (
    WIDTHS,
    Batch,
    Data,
    Training,
    accuracy,
    check_images,
    fit,
    load,
    make_model,
)
from mechlearn_zoo.nn.convolutions import Norm
from mechlearn_zoo.tasks.pictures.digits import CLASSES
from mechlearn_zoo.tasks.pictures.images import ImageData, Images, pixels, with_random_labels
from mechlearn_zoo.tasks.streams import same_stream

Labels = Literal["true", "random"]
Regulariser = Literal["none", "l2", "dropout"]


@dataclass(frozen=True)
class Config:
    """Settings of the trials; the README says how the digits differ from CIFAR-10."""

    seed: int = 0
    """First seed: of the split, the random labels, the initial weights and the batches."""
    data: Data = "digits"
    """Digits of 8 x 8 pixels, which ship with scikit-learn, or CIFAR-10."""
    folder: str = ""
    """Folder that holds the public archive of CIFAR-10."""
    examples: Annotated[int, Ge(0)] = 480
    """Training images; 0 takes all there are."""
    labels: Annotated[tuple[Labels, ...], MinLen(1)] = ("true", "random")
    """Train with the true labels, with random ones, or with both in turn."""
    thresholds: Annotated[tuple[Share, ...], MinLen(1)] = (0.0, 0.1, 0.2, 0.4, 0.8)
    """Thresholds of the AND-mask; 0 is plain averaging."""
    rescale: bool = False
    """Rescale what survives the mask, as the published code's instructions do."""
    width: Annotated[int, Ge(1)] = WIDTHS["quick"]
    """Channels of the residual network's first convolution; the texts' network has 64."""
    norm: Norm = Training.norm
    """GroupNorm keeps the examples apart; BatchNorm is the texts', differentiated through the whole batch's statistics."""
    batch: Batch = Training.batch
    """Examples, so environments, in a step."""
    learning_rate: Positive = 5e-3
    """Adam's initial learning rate; the texts have 5e-4 for CIFAR-10."""
    drops: tuple[Share, ...] = (0.5, 0.75)
    """Shares of the training after which the learning rate falls to a tenth; none: it stays."""
    weight_decay: Annotated[float, Ge(0)] = Training.weight_decay
    """Added to the gradient after the mask, as in the published code's instructions."""
    epochs: Annotated[int, Ge(1)] = 80
    """Passes over the training images."""
    reports: Annotated[int, Ge(1)] = 10
    """Points of each learning curve."""
    regularisers: Annotated[tuple[Regulariser, ...], MinLen(1)] = ("none",)
    """What training is regularised by beside the mask: nothing, more L2, or dropout before the last layer."""
    l2: Annotated[float, Ge(0)] = 5e-4
    """Weight decay of the arm l2, in the place of `weight_decay`."""
    dropout: Annotated[float, Interval(gt=0, lt=1)] = 0.5
    """Probability of dropping a feature of the arm dropout."""
    pixel_noise: Annotated[float, Ge(0)] = 0.0
    """Standard deviation of what is added to every pixel, once for the run: what can be memorised and does not generalise."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_images(self.data, self.folder, self.examples, self.batch)

    def training(self, regulariser: Regulariser = "none") -> Training:
        """Return the settings of each trial's training: all but labels, threshold and dropout."""
        decay = self.l2 if regulariser == "l2" else self.weight_decay
        return Training(self.seed, self.width, self.learning_rate, self.drops, self.epochs, self.norm, self.batch, decay)


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # The premise of section 3.3.2 (Zhang et al., 2017), without a mask. Dropout takes longer, and more features to drop.
    "regularised": Preset(
        Config(
            seed=100,
            labels=("random",),
            thresholds=(0.0,),
            width=WIDTHS["paper"],
            epochs=300,
            regularisers=("none", "l2", "dropout"),
        ),
        seeds=6,
    ),
    # Digits have next to no gap between training and test accuracy that a mask could close; under noise they have one.
    "gap": Preset(Config(seed=100, labels=("true",), thresholds=(0.0, 0.1, 0.2, 0.3, 0.4), pixel_noise=0.5), seeds=6),
    # Thresholds, batch and epochs of thesis appendix B.2.5, on the digits unless told otherwise.
    "paper": Preset(
        Config(examples=1000, thresholds=(0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8), width=WIDTHS["paper"], learning_rate=2e-3),
        seeds=3,
    ),
}


class Trial(NamedTuple):
    """What one network is trained on, and how."""

    labels: Labels
    regulariser: Regulariser
    threshold: float

    @property
    def name(self) -> str:
        """Return what it is called."""
        beside = "" if self.regulariser == "none" else f", {self.regulariser}"
        return f"{self.labels} labels, threshold {self.threshold}{beside}"


def trials(config: Config) -> list[Trial]:
    """Return all training runs of a config, in their order."""
    return [Trial(*each) for each in product(config.labels, config.regularisers, config.thresholds)]


def run(config: Config) -> Iterator[Row]:
    """Train one network for each kind of labels, regulariser and threshold; yield learning curves, the last point final."""
    data = noisy(load(config.data, config.folder, config.seed, config.examples), config.pixel_noise, config.seed)
    generator = same_stream(config.seed)
    random, _ = with_random_labels(data.train.y, 1.0, CLASSES, generator)
    targets = {"true": data.train.y, "random": random}
    for trial in trials(config):
        yield from _trained(config, trial, data, targets[trial.labels])


def noisy(data: ImageData, spread: float, seed: int) -> ImageData:
    """Return images with noise in every pixel, the same for all trials of a seed; a spread of 0 leaves the data as they are."""
    if spread == 0:
        return data
    generator = same_stream(seed)
    parts = [
        Images(pixels(x) + spread * torch.randn(x.shape, generator=generator), y)
        for x, y in (data.train, data.validation, data.test)
    ]
    return ImageData(*parts, name=f"{data.name}, with noise of {spread:g} in every pixel")


def _trained(config: Config, trial: Trial, data: ImageData, labels: Tensor) -> Iterator[Row]:
    """Train one network; yield its learning curve."""
    saved, training = checkpoint(trial.name), config.training(trial.regulariser)
    yield from saved.values
    if saved.finished:
        return
    model = make_model(training, data.train.x.shape[1])
    if trial.regulariser == "dropout":
        # before the linear layer and the constant behind it
        dropped = Dropout(config.dropout, same_stream(config.seed))
        layers = list(model.children())
        model = nn.Sequential(*layers[:-2], dropped, *layers[-2:])
    rule: Rule = AndMask(trial.threshold, config.rescale) if trial.threshold > 0 else Mean()
    for step in fit(model, rule, data.train, labels, training, saved):
        epoch = saved.done + 1
        if epoch % max(1, config.epochs // config.reports) and epoch != config.epochs:
            saved.keep(epoch)
            continue
        row: Row = {
            "kind": "final" if epoch == config.epochs else "curve",
            "data": data.name,
            "labels": trial.labels,
            "threshold": trial.threshold,
            "epoch": epoch,
            "step": step,
            "train_accuracy": accuracy(model, data.train, labels),
            "test_accuracy": accuracy(model, data.test, data.test.y),
        }
        if config.regularisers != ("none",):
            row["regulariser"] = trial.regulariser
        yield saved.keep(epoch, row)
    saved.finish()


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    trial = (row["labels"], row.get("regulariser", "none"), number(row, "threshold"))
    every: list[tuple[object, ...]] = [tuple(each) for each in trials(config)]
    done = (every.index(trial) + number(row, "epoch") / config.epochs) / len(every)
    words = f"{row['labels']} labels, threshold {trial[2]:g}: training accuracy {number(row, 'train_accuracy'):.2f}"
    return done, words
