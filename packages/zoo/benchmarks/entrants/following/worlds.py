"""Frames to match, and a network to train: a blob that drifts down over a still background."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # the usual name

from mechlearn.trajectories import Trajectories


class Size(NamedTuple):
    """Height and width in pixels, colours, and frames of the longest trajectory."""

    height: int
    width: int
    colours: int
    time: int


SIZES = {"36x40": Size(36, 40, 1, 120), "64x64 RGB": Size(64, 64, 3, 120), "126x75 RGB": Size(126, 75, 3, 120)}
"""The frames of a small board, of Room runner and of Funnel board."""

SMALL = 12
"""Frames of the longest trajectory where workloads are shrunk to the size of a test."""


def world(size: Size, count: int, seed: int) -> Trajectories:
    """Return trajectories of 70 to 100 % of the longest, as images in bytes."""
    generator = Generator().manual_seed(seed)
    shares = torch.rand(count, generator=generator)
    return Trajectories.from_list([_fall(size, round(size.time * (0.7 + 0.3 * float(s))), generator) for s in shares], 1 / 255)


def _fall(size: Size, length: int, generator: Generator) -> Tensor:
    background = (torch.rand(size.colours, size.height, size.width, generator=generator) < 0.1) * 128.0
    rows, columns = torch.arange(size.height)[:, None], torch.arange(size.width)
    down = torch.rand(length, generator=generator).cumsum(0) * 2 * size.height / length
    across = size.width / 2 + 0.3 * torch.randn(length, generator=generator).cumsum(0)
    # A blob with soft edges, so that frames differ by fractions of a pixel's way.
    blobs = [(-((rows - y) ** 2 + (columns - x) ** 2) / 6).exp() for y, x in zip(down, across, strict=True)]
    return torch.stack([(background * (1 - blob) + 255 * blob).to(torch.uint8) for blob in blobs])


def with_floats(x: Trajectories) -> Trajectories:
    """Return the same trajectories with frames in float32."""
    return Trajectories(x.values(), x.lengths)


class HalfResolution(nn.Module):
    """Five convolutions with 16 kernels at half resolution, starting near the identity: the prototype's network.

    Args:
        colours: of a frame.
        generator: of the weights.
    """

    def __init__(self, colours: int, generator: Generator) -> None:
        super().__init__()
        widths, kernels = (colours, 16, 16, 16, 16, 16), (5, 5, 5, 7, 5)
        layers: list[nn.Module] = []
        for i, kernel in enumerate(kernels):
            layers += [nn.Conv2d(widths[i], widths[i + 1], kernel, 2 if i == 0 else 1, kernel // 2), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Conv2d(16, 4 * colours, 1))
        for parameter in self.parameters():
            with torch.no_grad():
                parameter.copy_(0.05 * torch.randn(parameter.shape, generator=generator))

    def forward(self, frames: Tensor) -> Tensor:
        """Return logits of a later frame."""
        change = F.pixel_shuffle(self.body(frames), 2)[:, :, : frames.shape[2], : frames.shape[3]]
        return change + 8 * (frames - 0.5)
