"""Convolutions over time, initialised from an explicit generator."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from torch import Generator, Tensor, nn

from craik.nn.perceptrons import linear


def trajectory_network(
    features: int, frames: int, channels: Sequence[int], hidden: int, outputs: int, generator: Generator
) -> nn.Sequential:
    """Return the network that reads trajectories (b, frames, features): convolutions over time, then one hidden layer.

    Each convolution has width 3, keeps the number of frames, and is followed by BatchNorm and ReLU; so is the hidden layer
    (thesis appendix C.2.2.2, table C.6: channels 96, 96, 96, 256, hidden 768; the width and BatchNorm's place are ours).

    Args:
        features: numbers of a frame.
        frames: frames of a trajectory.
        channels: of each convolution.
        hidden: units between the convolutions and the outputs.
        outputs: numbers that come out.
        generator: of the initial weights.
    """
    modules: list[nn.Module] = [_TimeLast()]
    for inputs, filters in pairwise((features, *channels)):
        modules += [_convolution(inputs, filters, generator), nn.BatchNorm1d(filters), nn.ReLU()]
    modules += [nn.Flatten(), linear(channels[-1] * frames, hidden, "default", generator), nn.BatchNorm1d(hidden), nn.ReLU()]
    return nn.Sequential(*modules, linear(hidden, outputs, "default", generator))


class _TimeLast(nn.Module):
    """From (b, frames, features) to (b, features, frames), as convolutions over time want it."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


def _convolution(inputs: int, filters: int, generator: Generator) -> nn.Conv1d:
    layer = nn.Conv1d(inputs, filters, 3, padding=1, device="meta").to_empty(device="cpu")
    nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
    bound = 1 / math.sqrt(3 * inputs)
    nn.init.uniform_(cast(Tensor, layer.bias), -bound, bound, generator=generator)
    return layer
