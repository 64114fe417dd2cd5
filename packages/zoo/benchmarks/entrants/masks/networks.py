"""The two convolutional networks of the benchmark, with GroupNorm and without in-place operations.

GroupNorm, as BatchNorm in train mode couples the environments; not in place, as several peers' hooks refuse it.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch.nn.functional as F  # noqa: N812  # torch's own habit
from torch import Generator, Tensor, nn

from mechlearn_zoo.nn.convolutions import Residual, Scale

GROUPS = 8
"""Groups of every GroupNorm: divides all widths."""


def initialise(model: nn.Module, generator: Generator) -> nn.Module:
    """Draw He-normal weights of all linear and convolutional layers from a generator, set biases to 0, and return the model."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return model


def relu_mlp(widths: Sequence[int]) -> nn.Sequential:
    """Return Linear layers of these widths with ReLU between them."""
    layers = [module for pair in pairwise(widths) for module in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """Return a 3x3 convolution with GroupNorm."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(GROUPS, outputs))


class Block(nn.Module):
    """Two convolutions and a shortcut without parameters (He et al. 2016, section 4.2, option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = conv(inputs, outputs, stride)
        self.second = conv(outputs, outputs)
        self.stride = stride
        self.pad = outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output; where the shape changes, the shortcut skips pixels and pads channels with zeros."""
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.pad))
        return F.relu(self.second(F.relu(self.first(x))) + shortcut)


def resnet(blocks: int = 3, width: int = 16, classes: int = 10) -> nn.Sequential:
    """Return the CIFAR ResNet of depth 6 * blocks + 2 (He et al. 2016, section 4.2): ResNet-20 as it stands."""
    layers: list[nn.Module] = [conv(3, width), nn.ReLU()]
    inputs = width
    for stage in range(3):
        for block in range(blocks):
            outputs = width * 2**stage
            layers.append(Block(inputs, outputs, stride=2 if stage and not block else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def fastresnet(width: int = 64, classes: int = 10) -> nn.Sequential:
    """Return the nine-layer residual network of Page (2018) that the papers' CIFAR experiments use: 6.6 million parameters."""

    def down(inputs: int, outputs: int) -> list[nn.Module]:
        return [conv(inputs, outputs), nn.ReLU(), nn.MaxPool2d(2)]

    def same(channels: int) -> Residual:
        return Residual(conv(channels, channels), nn.ReLU(), conv(channels, channels), nn.ReLU())

    return nn.Sequential(
        conv(3, width),
        nn.ReLU(),
        *down(width, 2 * width),
        same(2 * width),
        *down(2 * width, 4 * width),
        *down(4 * width, 8 * width),
        same(8 * width),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(8 * width, classes, bias=False),
        Scale(0.125),
    )
