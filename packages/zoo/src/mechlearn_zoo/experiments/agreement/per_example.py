"""Images classified with every example an environment of its own: what `memorisation` and `label_noise` share.

Digits that ship with scikit-learn stand in for CIFAR-10, which is read from an archive where the user has one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import LabError, Limited, Positive, Saved, Share
from mechlearn.agreement import Agreement, Rule
from mechlearn_zoo.nn.convolutions import Norm, fast_resnet
from mechlearn_zoo.tasks.pictures.cifar import cifar10
from mechlearn_zoo.tasks.pictures.digits import CLASSES, digits
from mechlearn_zoo.tasks.pictures.images import ImageData, Images, pixels
from mechlearn_zoo.tasks.streams import same_stream

Data = Literal["digits", "cifar10"]

Batch = Annotated[int, Ge(2), "every example is an environment"]

ALL_DIGITS = 1000
"""Training images where all there are is asked for; the other digits are for validation and test."""

WIDTHS = {"quick": 4, "paper": 8}
"""Channels of the residual network's first convolution at each preset; the texts' network has 64."""


@dataclass(frozen=True)
class Training(Limited):
    """A training run.

    Args:
        seed: of the initial weights and the batches.
        width: channels of the residual network's first convolution.
        learning_rate: Adam's initial learning rate.
        drops: shares of the training after which the learning rate falls to a tenth.
        epochs: passes over the training images.
        norm: GroupNorm keeps the examples apart; BatchNorm is differentiated through the whole batch's statistics.
        batch: examples, so environments, in a step.
        weight_decay: added to the gradient after the mask.

    Raises:
        ValueError: a number outside its limits.
    """

    seed: int
    width: Annotated[int, Ge(1)]
    learning_rate: Positive
    drops: tuple[Share, ...]
    epochs: Annotated[int, Ge(1)]
    norm: Norm = "group"
    batch: Batch = 80
    weight_decay: Annotated[float, Ge(0)] = 1e-6


def check_images(data: Data, folder: str, examples: int, batch: int) -> None:
    """Reject settings that do not go together, before any work."""
    if data == "cifar10" and not folder:
        raise ValueError("CIFAR-10 needs the folder of its archive. Found none; give it with --folder.")
    if 0 < examples < batch:
        raise ValueError(f"examples should be at least the batch of {batch}, or 0 for all. Found {examples}.")
    if data == "digits" and examples > ALL_DIGITS:
        raise ValueError(
            f"examples should be at most {ALL_DIGITS}: the other digits are for validation and test. Found {examples}."
        )
    if data == "digits" and batch > (most := examples or ALL_DIGITS):
        raise ValueError(f"batch should be between 2 and {most}: it comes from the examples. Found {batch}.")


def load(data: Data, folder: str, seed: int, examples: int) -> ImageData:
    """Return the images, with as many to train on as asked for.

    Raises:
        LabError: more examples than there are, or a damaged archive; what else is raised reads as a fault of the run's own.
        FileNotFoundError: no archive of CIFAR-10 in the folder.
    """
    if data == "digits":
        return digits(seed, train=examples or ALL_DIGITS)
    try:
        found = cifar10(folder, seed)
    except ValueError as error:
        raise LabError(str(error)) from None
    if examples > len(found.train.x):
        raise LabError(
            f"examples should be at most {len(found.train.x)}, CIFAR-10's without its validation images. Found {examples}."
        )
    keep = slice(examples or None)
    return found._replace(train=Images(found.train.x[keep], found.train.y[keep]))


def batches(count: int, size: int, epochs: int, generator: torch.Generator) -> Iterator[Int[Tensor, " b"]]:
    """Yield the rows of each step's batch, each epoch in a fresh order; a last, smaller batch is dropped."""
    for _ in range(epochs):
        order = torch.randperm(count, generator=generator)
        yield from (rows for rows in order.split(size) if len(rows) == size)


def make_model(training: Training, channels: int) -> nn.Module:
    """Return the residual network with the initial weights of a training's seed."""
    generator = torch.Generator().manual_seed(training.seed)
    return fast_resnet(channels, CLASSES, generator, training.width, training.norm, groups=min(8, training.width))


def fit(
    model: nn.Module, rule: Rule, images: Images, labels: Int[Tensor, " b"], training: Training, saved: Saved | None = None
) -> Iterator[int]:
    """Train a model in place, every example an environment; yield the number of steps done after each epoch.

    Args:
        model: what is trained.
        rule: how its examples' gradients are combined.
        images: to train on.
        labels: theirs.
        training: how long and how.
        saved: where it goes on, in epochs; the caller keeps it.
    """
    saved = saved or Saved()
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay)
    per_epoch = len(labels) // training.batch
    drops = [round(share * training.epochs * per_epoch) for share in training.drops]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
    generator = same_stream(training.seed)
    saved.restore(model, optimizer, scheduler, generator)
    orders = batches(len(labels), training.batch, training.epochs - saved.done, generator)
    statistics = "pooled" if training.norm == "batch" else None
    with Agreement(model, rule, statistics=statistics) as agreement:
        for step, rows in enumerate(orders, start=saved.done * per_epoch + 1):
            optimizer.zero_grad()
            losses = cross_entropy(model(pixels(images.x[rows])), labels[rows], reduction="none")
            agreement.backward(losses, range(len(rows)))
            optimizer.step()
            scheduler.step()
            if step % per_epoch == 0:
                yield step


def accuracy(model: nn.Module, images: Images, labels: Int[Tensor, " b"]) -> float:
    """Return the share of images to which a model, in eval mode, gives these labels."""
    model.eval()
    with torch.no_grad():
        hits = [(model(pixels(x)).argmax(1) == y).sum() for x, y in zip(images.x.split(1000), labels.split(1000), strict=True)]
    model.train()
    return float(sum(hits) / len(labels))
