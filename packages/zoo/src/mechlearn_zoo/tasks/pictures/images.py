"""What tasks on labelled images share: splits, and labels that are random for a share of the examples."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Generator, Tensor

from mechlearn.arguments import check_generator


class Images(NamedTuple):
    """Labelled images: floats in [0, 1], or bytes where there are too many to hold as floats (`pixels` converts a batch)."""

    x: Shaped[Tensor, "b channels height width"]
    y: Int[Tensor, " b"]


class ImageData(NamedTuple):
    """Images to train on, to choose settings on and to report on.

    Attributes:
        train: for training.
        validation: held out, for choosing settings.
        test: held out, for reporting.
        name: which data, in words for a report.
    """

    train: Images
    validation: Images
    test: Images
    name: str


def pixels(x: Shaped[Tensor, "b channels height width"]) -> Shaped[Tensor, "b channels height width"]:
    """Return images as floats in [0, 1]; bytes are divided by 255, floats stay as they are."""
    return x.float() / 255 if x.dtype == torch.uint8 else x


def with_random_labels(
    labels: Int[Tensor, " b"], share: float, classes: int, generator: Generator
) -> tuple[Int[Tensor, " b"], Bool[Tensor, " b"]]:
    """Give a share of the examples labels drawn uniformly from all classes (Zhang et al., 2017).

    Which examples are redrawn is drawn, too; their number is exact. About one redrawn label in as many as there are classes
    is the old one by chance.

    Args:
        labels: class numbers, from 0.
        share: in [0, 1]: 0 leaves the labels as they are, 1 redraws all.
        classes: number of classes.
        generator: of the draws.

    Returns:
        The labels, and True where a label is now another than it was.

    Raises:
        TypeError: no generator.
        ValueError: a share outside [0, 1], or labels outside the classes.
    """
    check_generator("generator", generator)
    if not 0 <= share <= 1:
        raise ValueError(f"`share` should lie in [0, 1]: 1 redraws every label. Found {share}.")
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise ValueError(f"Labels should lie between 0 and {classes - 1}. Found {int(labels.min())} to {int(labels.max())}.")
    chosen = torch.randperm(len(labels), generator=generator)[: round(share * len(labels))]
    redrawn = labels.clone()
    redrawn[chosen] = torch.randint(classes, (len(chosen),), generator=generator).to(labels.dtype)
    return redrawn, redrawn != labels
