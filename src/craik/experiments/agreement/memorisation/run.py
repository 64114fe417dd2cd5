"""Networks trained on true and on random labels, at several thresholds of the AND-mask.

Plain training fits random labels as well as true ones (Zhang et al., 2017). Random labels have no mechanism to agree on, so
a mask that asks even a little agreement should stop that, and leave true labels learnable.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, MinLen

from craik.agreement import AndMask, Mean, Rule
from craik.experiments.agreement.per_example import (
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
from craik.lab import Positive, Preset, Row, Share, check_limits, checkpoint, number
from craik.nn.convolutions import Norm
from craik.tasks.pictures.digits import CLASSES
from craik.tasks.pictures.images import with_random_labels

Labels = Literal["true", "random"]


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

    def __post_init__(self) -> None:
        check_limits(self)
        check_images(self.data, self.folder, self.examples, self.batch)

    def training(self) -> Training:
        """Return the settings of each trial's training: all but labels and threshold."""
        return Training(
            self.seed, self.width, self.learning_rate, self.drops, self.epochs, self.norm, self.batch, self.weight_decay
        )


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # Thresholds, batch and epochs of thesis appendix B.2.5, on the digits unless told otherwise.
    "paper": Preset(
        Config(examples=1000, thresholds=(0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8), width=WIDTHS["paper"], learning_rate=2e-3),
        seeds=3,
    ),
}


def run(config: Config) -> Iterator[Row]:
    """Train one network for each kind of labels and threshold; yield learning curves, the last point marked final."""
    data, training = load(config.data, config.folder, config.seed, config.examples), config.training()
    generator = torch.Generator().manual_seed(config.seed + 2**33)
    random, _ = with_random_labels(data.train.y, 1.0, CLASSES, generator)
    targets = {"true": data.train.y, "random": random}
    for kind in config.labels:
        for threshold in config.thresholds:
            saved = checkpoint(f"{kind} labels, threshold {threshold}")
            yield from saved.values
            if saved.finished:
                continue
            model = make_model(training, data.train.x.shape[1])
            rule: Rule = AndMask(threshold, config.rescale) if threshold > 0 else Mean()
            for step in fit(model, rule, data.train, targets[kind], training, saved):
                epoch = saved.done + 1
                if epoch % max(1, config.epochs // config.reports) and epoch != config.epochs:
                    saved.keep(epoch)
                    continue
                row: Row = {
                    "kind": "final" if epoch == config.epochs else "curve",
                    "data": data.name,
                    "labels": kind,
                    "threshold": threshold,
                    "epoch": epoch,
                    "step": step,
                    "train_accuracy": accuracy(model, data.train, targets[kind]),
                    "test_accuracy": accuracy(model, data.test, data.test.y),
                }
                yield saved.keep(epoch, row)
            saved.finish()


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    labels, threshold = str(row["labels"]), number(row, "threshold")
    trial = [str(kind) for kind in config.labels].index(labels) * len(config.thresholds) + config.thresholds.index(threshold)
    done = (trial + number(row, "epoch") / config.epochs) / (len(config.labels) * len(config.thresholds))
    return done, f"{labels} labels, threshold {threshold:g}: training accuracy {number(row, 'train_accuracy'):.2f}"
