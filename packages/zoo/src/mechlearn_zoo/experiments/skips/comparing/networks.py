"""Dynamics models f on pictures: the thesis's seven convolutions, and a cheaper one for the moving parts alone.

Index conventions: n runs over frames; channels, height, width as in torch. Predictions are logits.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # the usual name

Architecture = Literal["half", "simple", "strided", "dilated"]


class PublishedNetwork(nn.Module):
    """The thesis's f (appendix A.0.1): seven "same" convolutions, the input once more before the sixth, He initialisation.

    Args:
        channels: of a frame.
        kernels: n, the channels in between.
        architecture: "simple"; "strided" has stride 2 in the second convolution and a transposed fourth; "dilated" has
            dilation 2 in the fourth.
        gain: what of the input is added to the logits, gain * (x - 1/2): 0 is the thesis's network; above it the network starts
            as the identity.
        context: channels of what stands still, given beside the frame; 0 where the frame shows all.
        generator: of the initial weights.
    """

    def __init__(
        self, channels: int, kernels: int, architecture: Architecture, gain: float, context: int, generator: Generator
    ) -> None:
        super().__init__()
        seen = channels + context
        self.gain, self.strided = gain, architecture == "strided"
        dilation = 2 if architecture == "dilated" else 1
        self.first = _convolution(seen, kernels, 5, generator)
        self.second = _convolution(kernels, kernels, 5, generator, stride=2 if self.strided else 1)
        self.third = _convolution(kernels, kernels, 5, generator)
        fourth = 5 if self.strided else 7  # the released code's transposed convolution is 5 x 5
        self.fourth = _convolution(kernels, kernels, fourth, generator, dilation=dilation, transposed=self.strided)
        self.fifth = _convolution(kernels, kernels, 5, generator)
        self.sixth = _convolution(kernels + seen, kernels, 1, generator)
        self.seventh = _convolution(kernels, channels, 1, generator)

    def forward(
        self, frames: Float[Tensor, "n channels height width"], context: Float[Tensor, "n context height width"] | None = None
    ) -> Float[Tensor, "n channels height width"]:
        """Return logits of the next frame."""
        x = frames if context is None else torch.cat([frames, context], dim=1)
        h = self.third(self.second(self.first(x).relu()).relu()).relu()
        h = self.fourth(h).relu()[..., : x.shape[-2], : x.shape[-1]]
        h = self.sixth(torch.cat([self.fifth(h).relu(), x], dim=1)).relu()
        return self.seventh(h) + self.gain * (frames - 0.5)


class HalfNetwork(nn.Module):
    """A cheaper f: a 5 x 5 convolution with stride 2, four of 3 x 3 (the second dilated), back to full size by pixel shuffle.

    Starts as the identity: logits are gain * (x - 1/2) and what the network adds, 0 at first.

    Args:
        channels: of a frame.
        kernels: the channels in between.
        gain: see above.
        context: channels of what stands still.
        generator: of the initial weights.
    """

    def __init__(self, channels: int, kernels: int, gain: float, context: int, generator: Generator) -> None:
        super().__init__()
        self.gain = gain
        self.first = _convolution(channels + context, kernels, 5, generator, stride=2)
        self.between = nn.ModuleList(
            _convolution(kernels, kernels, 3, generator, dilation=dilation) for dilation in (1, 2, 1, 1)
        )
        self.last = _convolution(kernels, 4 * channels, 1, generator)
        nn.init.zeros_(self.last.weight)

    def forward(
        self, frames: Float[Tensor, "n channels height width"], context: Float[Tensor, "n context height width"] | None = None
    ) -> Float[Tensor, "n channels height width"]:
        """Return logits of the next frame."""
        h = self.first(frames if context is None else torch.cat([frames, context], dim=1)).relu()
        for layer in self.between:
            h = layer(h).relu()
        full = F.pixel_shuffle(self.last(h), 2)[..., : frames.shape[-2], : frames.shape[-1]]  # one more where a side is odd
        return full + self.gain * (frames - 0.5)


def frame_network(
    architecture: Architecture, channels: int, kernels: int, gain: float, context: int, generator: Generator
) -> nn.Module:
    """Return a network by the name of its architecture."""
    if architecture == "half":
        return HalfNetwork(channels, kernels, gain, context, generator)
    return PublishedNetwork(channels, kernels, architecture, gain, context, generator)


def _convolution(
    inputs: int, outputs: int, size: int, generator: Generator, stride: int = 1, dilation: int = 1, transposed: bool = False
) -> nn.Conv2d | nn.ConvTranspose2d:
    """A "same" convolution with He-uniform weights, as the released code has them, and no bias at the start."""
    padding = size // 2 * dilation
    # Made on the meta device first: elsewhere a convolution would draw its default weights from the global generator.
    if transposed:
        made = nn.ConvTranspose2d(inputs, outputs, size, 2, padding, output_padding=1, device="meta")
    else:
        made = nn.Conv2d(inputs, outputs, size, stride, padding, dilation, device="meta")
    layer = made.to_empty(device="cpu")
    nn.init.kaiming_uniform_(layer.weight, mode="fan_in", nonlinearity="relu", generator=generator)
    assert layer.bias is not None  # the default
    nn.init.zeros_(layer.bias)
    return layer
