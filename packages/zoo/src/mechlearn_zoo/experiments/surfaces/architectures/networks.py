"""Two hypothesis classes of about as many parameters, for digits of 8 x 8 pixels that come flat."""

from typing import Literal

from torch import Generator, nn

from mechlearn.nn.perceptrons import linear, mlp
from mechlearn_zoo.tasks.pictures.digits import CLASSES

Start = Literal["perceptron", "convolution", "pre-trained"]
"""A pre-trained start is the perceptron's class with other weights to begin with."""


def make_network(start: Start, hidden: int, generator: Generator) -> nn.Sequential:
    """Return a network with He-normal initial weights.

    Args:
        start: "convolution" has one of 3 x 3 with stride 2, half as many channels as the perceptron has hidden units.
        hidden: the perceptron's units.
        generator: of the initial weights.
    """
    if start != "convolution":
        return mlp(64, CLASSES, generator, hidden, 1)
    channels = max(1, hidden // 2)
    # Made on the meta device first: elsewhere a convolution would draw its default weights from the global generator.
    first = nn.Conv2d(1, channels, 3, 2, 1, device="meta").to_empty(device="cpu")
    nn.init.kaiming_normal_(first.weight, generator=generator)
    assert first.bias is not None  # the default
    nn.init.constant_(first.bias, 0.01)
    last = linear(16 * channels, CLASSES, "kaiming", generator)
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), first, nn.LeakyReLU(), nn.Flatten(), last)
