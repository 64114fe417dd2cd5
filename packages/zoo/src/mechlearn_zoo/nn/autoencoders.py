"""A convolutional variational autoencoder of square frames: the V of a world model.

Layers as in the published code of https://arxiv.org/abs/1809.01999: convolutions of width 4 and stride 2 without padding, ReLU,
two linear maps to mean and log variance; back through transposed convolutions of stride 2 to a sigmoid. Frames are (b,
channels, size, size) in [0, 1].
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mechlearn.arguments import (
    all_finite,
    check_all_finite,
    check_data,
    check_floats,
    check_generator,
    check_kind,
    check_not_negative,
    check_one_of,
    check_positive,
    check_result,
    check_share,
    check_whole,
)
from mechlearn.nn.perceptrons import linear

Decoder = Literal["mirrored", "published"]

PUBLISHED = 64
"""The only size that the published decoder's kernels 5, 5, 6, 6 give."""

SMALLER = "Lower the learning rate, clip gradients, or scale the frames to [0, 1]."


class Encoded(NamedTuple):
    """A normal distribution over latents for each frame, (b, latent) each."""

    mean: Float[Tensor, "b latent"]
    log_var: Float[Tensor, "b latent"]


class ConvVAE(nn.Module):
    """Frames to a normal distribution over latents and back.

    Args:
        channels: of a frame.
        size: height and width.
        latent: dimensions of z.
        generator: of the initial weights.
        widths: channels of the convolutions, each of which halves the frame; the published ones are the default.
        decoder: "mirrored" goes back through the encoder's own sizes, whatever they are; "published" starts from one pixel with
            1024 channels and has kernels 5, 5, 6, 6, which gives 64 x 64.
        brightness: what an untrained decoder shows about: frames' mean. At the default, a half, frames that are mostly dark can
            drive every pixel to 0 before anything is told apart, and there the sigmoid has no gradient.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: sizes below 1, a frame that is too small for so many convolutions, or the published decoder at another size.
    """

    def __init__(
        self,
        channels: int,
        size: int,
        latent: int,
        generator: Generator,
        widths: Sequence[int] = (32, 64, 128, 256),
        decoder: Decoder = "mirrored",
        brightness: float = 0.5,
    ) -> None:
        super().__init__()
        for name, number in {"channels": channels, "size": size, "latent": latent}.items():
            check_whole(name, number, 1)
        check_one_of("decoder", decoder, ("mirrored", "published"))
        check_share("brightness", brightness)
        check_generator("generator", generator)
        self.channels, self.size, self.latent = channels, size, latent
        sizes = _sizes(size, widths)
        kernels, first = _way_back(sizes, widths, decoder, size)
        features = widths[-1] * sizes[-1] ** 2
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise((channels, *widths)):
            layers += [_drawn(nn.Conv2d(inputs, outputs, 4, 2, device="meta"), inputs * 16, generator), nn.ReLU()]
        self.encoder = nn.Sequential(*layers, nn.Flatten())
        self.mean = linear(features, latent, "default", generator)
        self.log_var = linear(features, latent, "default", generator)
        back: list[nn.Module] = [linear(latent, first[0] * first[1] ** 2, "default", generator)]
        back.append(nn.Unflatten(1, (first[0], first[1], first[1])))
        backwards = (first[0], *reversed(widths[:-1]), channels)
        for (inputs, outputs), kernel in zip(pairwise(backwards), kernels, strict=True):
            layer = nn.ConvTranspose2d(inputs, outputs, kernel, 2, device="meta")
            back += [_drawn(layer, outputs * kernel**2, generator), nn.ReLU()]
        with torch.no_grad():
            cast(Tensor, back[-2].bias).add_(math.log((brightness + 1e-3) / (1 - brightness + 1e-3)))
        self.decoder = nn.Sequential(*back[:-1], nn.Sigmoid())

    def encode(self, x: Float[Tensor, "..."]) -> Encoded:
        """Return mean and log variance of each frame's latents.

        Raises:
            TypeError: no frames, or of another type than the weights.
            ValueError: frames of another shape, or outside [0, 1].
        """
        sizes = (self.channels, self.size, self.size)
        check_floats("x", x, "b", *sizes, like=self.mean.weight, way_out="Crop or resize the frames to V's size.")
        low, high = x.detach().aminmax()
        if not (low >= 0 and high <= 1):
            raise ValueError(
                f"Frames should lie in [0, 1]. Found {float(low):g} to {float(high):g}. Divide bytes by 255, and "
                "repair what is NaN."
            )
        hidden = self.encoder(x)
        return Encoded(self.mean(hidden), self.log_var(hidden))

    def decode(self, z: Float[Tensor, "..."]) -> Float[Tensor, "b c h w"]:
        """Return a frame in [0, 1] for each latent.

        Raises:
            TypeError: no latents, or of another type than the weights.
            ValueError: of another shape. Values are not looked at, as in every layer.
        """
        check_floats("z", z, "b", self.latent, like=self.mean.weight)
        return self.decoder(z)


def sample_latent(encoded: Encoded, generator: Generator) -> Float[Tensor, "*b latent"]:
    """Return z = mean + exp(log_var / 2) e with e of a standard normal.

    Raises:
        TypeError: no `Encoded`, no generator.
        ValueError: other shapes, means that are not finite, a generator on another device; a log variance whose exponential
            is not finite: the sentence names the layer.
    """
    _check_encoded(encoded, "...")
    check_all_finite("mean", encoded.mean)
    check_generator("generator", generator, beside=encoded.mean)
    deviation = torch.exp(0.5 * encoded.log_var)
    _check_exponential(deviation, encoded)
    noise = torch.randn(encoded.mean.shape, generator=generator, dtype=encoded.mean.dtype, device=encoded.mean.device)
    return encoded.mean + deviation * noise


def vae_loss(
    x: Float[Tensor, "..."], x_hat: Float[Tensor, "..."], encoded: Encoded, free_nats: float = 0.5, reconstruction: float = 1.0
) -> Float[Tensor, " b"]:
    """Return each frame's loss: the SUM over pixels and channels of (x - x^)^2, and max(KL, free_nats x latent).

    Args:
        x: frames.
        x_hat: what the decoder made of a sample of their latents.
        encoded: the latents' distributions.
        free_nats: below so many nats a dimension the divergence costs nothing, and has no gradient.
        reconstruction: weight of the squared error; small things, a few bright pixels, need more than 1 (we took 60 where
            they are 4 % of the frame).

    Raises:
        TypeError: weights that are no numbers, frames that are no floats, no `Encoded`.
        ValueError: frames of different shapes, latents of another number, a negative `free_nats`, a weight that is not
            positive; a loss that is not finite: what it comes of is named, the layer `log_var` where its exponential overflows.
    """
    for name, frames in (("x", x), ("x_hat", x_hat)):
        check_floats(name, frames, "...")
        check_data(name, frames)
    check_not_negative("free_nats", free_nats)
    check_positive("reconstruction", reconstruction)
    if x.shape != x_hat.shape:
        raise ValueError(f"`x_hat` should have the shape of `x`, {tuple(x.shape)}. Found {tuple(x_hat.shape)}.")
    squared = (x - x_hat).square().flatten(1).sum(1)
    _check_encoded(encoded, len(x))
    mean, log_var = encoded
    divergence = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(1)
    losses = reconstruction * squared + divergence.clamp(min=free_nats * mean.shape[1])
    if not all_finite(losses):
        _check_exponential(log_var.exp(), encoded)
        check_result(losses, {"x": x, "x_hat": x_hat, "mean": mean}, way_out=SMALLER)
    return losses


def _check_encoded(encoded: object, batch: int | str) -> None:
    check_kind("encoded", encoded, Encoded, "an Encoded(mean, log_var)")
    if isinstance(encoded, Encoded):
        check_floats("mean", encoded.mean, batch, "latent")
        check_floats("log_var", encoded.log_var, *encoded.mean.shape, like=encoded.mean)


def _check_exponential(exponential: Tensor, encoded: Encoded) -> None:
    if not all_finite(exponential):
        raise ValueError(
            f"`log_var` should have finite exponentials. Found {float(encoded.log_var.detach().max()):g} from the layer "
            f"`log_var`. {SMALLER}"
        )


def _sizes(size: int, widths: Sequence[int]) -> list[int]:
    sizes = [size]
    for width in widths:
        check_whole("widths", width, 1)
        sizes.append((sizes[-1] - 4) // 2 + 1)
    if sizes[-1] < 1 or not widths:
        raise ValueError(
            f"A frame of {size} pixels should outlast the convolutions, each halving it. Found {len(widths)} of them. "
            "Give one or more `widths`, and fewer for small frames, such as (16, 32)."
        )
    return sizes


def _way_back(sizes: list[int], widths: Sequence[int], decoder: Decoder, size: int) -> tuple[tuple[int, ...], tuple[int, int]]:
    """Return the kernels of the transposed convolutions, and channels and size of what they start from."""
    if decoder == "mirrored":
        return tuple(4 + before % 2 for before in reversed(sizes[:-1])), (widths[-1], sizes[-1])
    if size != PUBLISHED or len(widths) != 4:
        raise ValueError(
            f"The published decoder gives frames of {PUBLISHED} pixels by four layers. Found {size} pixels and {len(widths)} "
            'widths. Take decoder="mirrored".'
        )
    return (5, 5, 6, 6), (4 * widths[-1], 1)


def _drawn(layer: nn.Module, fan_in: int, generator: Generator) -> nn.Module:
    layer = layer.to_empty(device="cpu")
    nn.init.kaiming_uniform_(cast(Tensor, layer.weight), a=math.sqrt(5), generator=generator)
    nn.init.uniform_(cast(Tensor, layer.bias), -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in), generator=generator)
    return layer
