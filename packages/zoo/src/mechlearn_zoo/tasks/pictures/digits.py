"""Handwritten digits: real images of 8 x 8 pixels that ship with scikit-learn.

1797 examples of the test part of the UCI set 'Optical recognition of handwritten digits' (Alpaydin and Kaynak, 1998). They
stand in for CIFAR-10 where that is not at hand: real images of ten classes, and small enough for a CPU.
"""

from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn_zoo.tasks.pictures.images import ImageData, Images

TOTAL = 1797
CLASSES = 10


def digits(seed: int, train: int = 1000, validation: int = 297, test: int = 500) -> ImageData:
    """Return the digits, split at random.

    Args:
        seed: of the split.
        train: number of examples to train on.
        validation: number of examples held out for choosing settings.
        test: number of examples held out for reporting.

    Returns:
        Images of shape (b, 1, 8, 8) with floats in [0, 1], labels 0 to 9.

    Raises:
        ValueError: sizes below 1, or more examples than the 1797 there are.
    """
    sizes = (train, validation, test)
    if min(sizes) < 1 or sum(sizes) > TOTAL:
        raise ValueError(f"The sizes should be at least 1 and add up to at most the {TOTAL} digits there are. Found {sizes}.")
    x, y = digits_in_order()
    order = torch.randperm(TOTAL, generator=Generator().manual_seed(seed))
    parts = [Images(x[some], y[some]) for some in order[: sum(sizes)].split(sizes)]
    return ImageData(*parts, name="scikit-learn's handwritten digits (real, 8 x 8 grey)")


def digits_in_order() -> tuple[Float[Tensor, "1797 1 8 8"], Int[Tensor, "1797"]]:
    """Return all images and labels as the file has them."""
    from sklearn.datasets import load_digits  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # slow to load

    x, y = cast("tuple[np.ndarray, np.ndarray]", load_digits(return_X_y=True))
    return torch.from_numpy(x / 16).float().reshape(-1, 1, 8, 8), torch.from_numpy(y).long()
