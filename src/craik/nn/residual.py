"""Residual networks on images, initialised from an explicit generator."""

import math
from typing import Literal

from torch import Generator, Tensor, nn

Norm = Literal["group", "batch"]


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
