"""Convolutions over time, and residual networks of convolutions on images, initialised from an explicit generator."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, cast

from torch import Generator, Tensor, nn

from mechlearn.arguments import check_generator
from mechlearn.nn.perceptrons import linear

Norm = Literal["group", "batch"]


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
    check_generator("generator", generator)
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


def fast_resnet(
    channels: int, classes: int, generator: Generator, width: int = 64, norm: Norm = "batch", groups: int = 8
) -> nn.Sequential:
    """Return the residual network of thesis appendix B.2.5 ("FastResNet" of PyTorch-Ignite's CIFAR-10 example), at any width.

    Args:
        channels: of the images.
        classes: output features.
        generator: of the initial weights, drawn as PyTorch's default draws them.
        width: channels of the first convolution, the texts' network has 64; later ones have 2, 4 and 8 times as many.
        norm: "batch" as in the texts; "group" keeps examples apart, so that single examples can be environments.
        groups: of a GroupNorm; divides the width.
    """
    check_generator("generator", generator)

    def conv(inputs: int, outputs: int) -> nn.Sequential:
        layer = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False, device="meta").to_empty(device="cpu")
        nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
        normalise = nn.BatchNorm2d(outputs) if norm == "batch" else nn.GroupNorm(groups, outputs)
        return nn.Sequential(layer, normalise, nn.ReLU())

    head = nn.Linear(8 * width, classes, bias=False, device="meta").to_empty(device="cpu")
    layers = [
        conv(channels, width),
        *(conv(width, 2 * width), nn.MaxPool2d(2), Residual(conv(2 * width, 2 * width), conv(2 * width, 2 * width))),
        *(conv(2 * width, 4 * width), nn.MaxPool2d(2)),
        *(conv(4 * width, 8 * width), nn.MaxPool2d(2), Residual(conv(8 * width, 8 * width), conv(8 * width, 8 * width))),
        *(nn.AdaptiveMaxPool2d(1), nn.Flatten(), head, Scale(0.125)),
    ]
    nn.init.kaiming_uniform_(head.weight, a=math.sqrt(5), generator=generator)
    return nn.Sequential(*layers)


class Residual(nn.Module):
    """What modules in sequence make of an input, added to the input."""

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*modules)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum."""
        return x + self.body(x)


class Scale(nn.Module):
    """A constant factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Return the product."""
        return self.factor * x
