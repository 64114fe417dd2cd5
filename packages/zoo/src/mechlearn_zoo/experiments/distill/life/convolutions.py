"""Convolutions over boards, whose initial weights a multiplier scales."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from torch import Generator, Tensor, nn


def scaled_convolutions(channels: Sequence[int], multiplier: float, generator: Generator, width: int = 3) -> nn.Sequential:
    """Return convolutions over pictures with ReLU after each; they are "0", "2", ... and keep the picture's size.

    Args:
        channels: of the input, then of each convolution.
        multiplier: of PyTorch's default initial weights, biases included (thesis appendix C.3).
        generator: of the initial weights.
        width: of the square kernels, odd.
    """
    modules: list[nn.Module] = []
    for inputs, filters in pairwise(channels):
        layer = nn.Conv2d(inputs, filters, width, padding=width // 2, device="meta").to_empty(device="cpu")
        bound = multiplier / (width * math.sqrt(inputs))
        nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        nn.init.uniform_(cast(Tensor, layer.bias), -bound, bound, generator=generator)
        modules += [layer, nn.ReLU()]
    return nn.Sequential(*modules)
