"""The networks that are compared: with coordinates, and the convolutions and deconvolutions they are compared with."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.nn.coordinates import CoordConv2d


class Tiled(nn.Module):
    """Two numbers on every pixel of a canvas."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        """From (b, 2) to (b, 2, side, side)."""
        return x[:, :, None, None].expand(-1, -1, self.side, self.side)


class MeanPlace(nn.Module):
    """The mean over all pixels, in units of a tenth of the canvas."""

    def forward(self, x: Tensor) -> Tensor:
        """From (b, c, h, w) to (b, c)."""
        return 10 * x.mean((2, 3))  # a square fills about a tenth of the canvas


def conv(inputs: int, outputs: int, kernel: int, generator: Generator, coordinates: bool, stride: int = 1) -> nn.Module:
    """Return a convolution that keeps the side, with coordinates or without, with PyTorch's default initial weights."""
    if coordinates:
        return CoordConv2d(inputs, outputs, kernel, generator, stride, kernel // 2)
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, device="meta").to_empty(device="cpu")
    bound = 1 / math.sqrt(inputs * kernel**2)
    for tensor in layer.parameters():
        nn.init.uniform_(tensor, -bound, bound, generator=generator)
    return layer


def deconv(inputs: int, outputs: int, generator: Generator, kernel: int = 4, stride: int = 2, padding: int = 1) -> nn.Module:
    """Return a transposed convolution, which doubles the side by default."""
    layer = nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding, device="meta").to_empty(device="cpu")
    bound = 1 / math.sqrt(outputs * kernel**2)
    for tensor in layer.parameters():
        nn.init.uniform_(tensor, -bound, bound, generator=generator)
    return layer


def per_pixel(side: int, widths: Sequence[int], generator: Generator) -> nn.Sequential:
    """Return CoordConv's answer to positions in, pixels out: the position on every pixel, coordinates, 1 x 1 convolutions."""
    modules: list[nn.Module] = [Tiled(side), CoordConv2d(2, widths[0], 1, generator), nn.ReLU()]
    for inputs, outputs in pairwise(widths):
        modules += [conv(inputs, outputs, 1, generator, coordinates=False), nn.ReLU()]
    return nn.Sequential(*modules, conv(widths[-1], 1, 1, generator, coordinates=False))


def deconvolutions(side: int, width: int, generator: Generator, inputs: int = 2) -> nn.Sequential:
    """Return transposed convolutions from one pixel to a canvas, each doubling the side and halving the channels.

    BatchNorm and ReLU between them, as in the paper's networks; the first goes from 1 x 1 to 4 x 4.
    """
    doublings = round(math.log2(side)) - 2
    channels = [max(8, width // 2**i) for i in range(doublings + 1)]
    modules: list[nn.Module] = [nn.Unflatten(1, (inputs, 1, 1)), deconv(inputs, channels[0], generator, stride=1, padding=0)]
    for index, wide in enumerate(channels):
        outputs = channels[index + 1] if index < doublings else 1
        modules += [nn.BatchNorm2d(wide), nn.ReLU()]
        if index < doublings:
            modules.append(deconv(wide, outputs, generator))
    return nn.Sequential(*modules, conv(channels[-1], 1, 3, generator, coordinates=False))


def pooled(width: int, generator: Generator) -> nn.Sequential:
    """Return CoordConv's answer to pixels in, positions out: coordinates at the first layer, a mean over pixels at the end."""
    return nn.Sequential(
        *(CoordConv2d(1, width, 1, generator), nn.ReLU()),
        *(conv(width, width, 1, generator, coordinates=False), nn.ReLU()),
        *(MeanPlace(), linear(width, 2, "default", generator)),
    )


def flattened(side: int, width: int, generator: Generator) -> nn.Sequential:
    """Return plain convolutions of stride 2 down to 4 x 4, then a hidden layer: what is usually done."""
    modules: list[nn.Module] = []
    inputs = 1
    for _ in range(round(math.log2(side)) - 2):
        modules += [conv(inputs, width, 3, generator, coordinates=False, stride=2), nn.ReLU()]
        inputs = width
    head = (linear(16 * width, 64, "default", generator), nn.ReLU(), linear(64, 2, "default", generator))
    return nn.Sequential(*modules, nn.Flatten(), *head)


def classifier(coordinates: bool, generator: Generator, width: int = 16) -> nn.Sequential:
    """Return a small network for 8 x 8 images of ten classes: the first layer with coordinates, or without."""
    return nn.Sequential(
        *(conv(1, width, 3, generator, coordinates), nn.ReLU()),
        *(conv(width, 2 * width, 3, generator, coordinates=False, stride=2), nn.ReLU()),
        *(conv(2 * width, 2 * width, 3, generator, coordinates=False), nn.ReLU()),
        *(nn.AdaptiveMaxPool2d(2), nn.Flatten(), linear(8 * width, 10, "default", generator)),
    )


def painter(side: int, latent: int, width: int, coordinates: bool, generator: Generator) -> nn.Sequential:
    """Return a generator of pictures from noise, (b, latent) to (b, 1, side, side): deconvolutions, or noise on every pixel."""
    if not coordinates:
        return nn.Sequential(*deconvolutions(side, width, generator, latent), nn.Sigmoid())
    modules: list[nn.Module] = [nn.Unflatten(1, (latent, 1, 1)), nn.Upsample(size=(side, side))]
    modules += [CoordConv2d(latent, width, 1, generator), nn.ReLU()]
    modules += [conv(width, width, 1, generator, coordinates=False), nn.ReLU()]
    return nn.Sequential(*modules, conv(width, 1, 3, generator, coordinates=False), nn.Sigmoid())


def critic(side: int, width: int, coordinates: bool, generator: Generator) -> nn.Sequential:
    """Return a discriminator: convolutions of stride 2, the first with coordinates or without, then one linear layer."""
    modules: list[nn.Module] = []
    inputs, size = 1, side
    while size > 4:
        modules += [conv(inputs, width, 3, generator, coordinates and inputs == 1, stride=2), nn.LeakyReLU(0.2)]
        inputs, size = width, (size + 1) // 2
    return nn.Sequential(*modules, nn.Flatten(), linear(width * size**2, 1, "default", generator))


def positions(images: Tensor) -> Tensor:
    """Return the centre of mass of each picture's light, (b, 2) row and column in pixels; the middle where it is dark."""
    light = images[:, 0].clamp(min=0)
    line = torch.arange(light.shape[-1]).to(light)
    total = light.sum((1, 2)).clamp(min=1e-6)
    return torch.stack([(light.sum(2) * line).sum(1), (light.sum(1) * line).sum(1)], 1) / total[:, None]
