"""SIMULATED voxels that see pictures: no recording. Say so in every caption.

Some of them pool light in a receptive field and compress it (a power below 1), the others have oriented energy: a quadrature
pair of Gabors in their field, squared and summed, then compressed. Noise is added anew at every repetition.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_finite,
    check_flag,
    check_generator,
    check_not_negative,
    check_positive,
    check_shape,
    check_share,
    check_whole,
)

LEAST_SIZE = 0.06
"""In pixels: a smaller field in float32 is 0 at every pixel where its middle lies between them."""


@dataclass(frozen=True, eq=False)
class SimulatedVoxels:
    """Voxels drawn from a generator; `simulated_voxels` makes them.

    Args:
        filters: (v, 2, h w) the two filters of each; a voxel that pools has the same one twice.
        power: of the compression.
    """

    filters: Float[Tensor, "v two pixels"]
    power: float

    def respond(self, pictures: Float[Tensor, "n 1 h w"]) -> Float[Tensor, "n v"]:
        """Return each voxel's answer without noise: (sum of the two filters' squares) ^ (power / 2)."""
        pixels = pictures.flatten(1)
        check_shape("pictures", pixels, "n", self.filters.shape[2])
        energy = torch.einsum("vfp,np->nvf", self.filters, pixels).square().sum(-1)
        return energy.clamp(min=1e-12) ** (self.power / 2)

    def record(
        self, pictures: Float[Tensor, "n 1 h w"], noise: float, repetitions: int, generator: Generator, gain: float = 1.0
    ) -> Float[Tensor, "r n v"]:
        """Return repeated recordings: answers of mean 0 and variance 1 over these pictures, times the gain, and noise.

        Args:
            pictures: (n, 1, h, w).
            noise: standard deviation of what is added, over that of the answers.
            repetitions: r.
            generator: of the noise.
            gain: of the answers, not of the noise: below 1 a weakened session, as when a picture is imagined.
        """
        check_generator("generator", generator)
        check_not_negative("noise", noise)
        check_whole("repetitions", repetitions, 1)
        check_positive("gain", gain)
        if len(pictures) < 2:
            raise ValueError(
                f"`pictures` should be two or more: answers have a variance over them. Found {len(pictures)}. Use `respond`."
            )
        clean = self.respond(pictures)
        clean = (clean - clean.mean(0)) / clean.std(0).clamp(min=1e-6)
        return gain * clean + noise * torch.randn(repetitions, *clean.shape, generator=generator)


def simulated_voxels(
    count: int,
    height: int,
    width: int,
    generator: Generator,
    power: float = 0.5,
    sizes: tuple[float, float] = (0.8, 2.0),
    pooled: float = 0.5,
    balanced: bool = False,
) -> SimulatedVoxels:
    """Draw voxels with fields anywhere in a picture.

    Args:
        count: v.
        height: h of the pictures.
        width: w.
        generator: of places, sizes, orientations and frequencies.
        power: of the compression; 1 is none.
        sizes: the smallest and the largest standard deviation of a field, in pixels.
        pooled: share of the voxels that pool light.
        balanced: whether each Gabor sums to 0, so that even light says nothing to it and a picture's negative the same as the
            picture; otherwise wide ones answer to light a little, too.
    """
    check_generator("generator", generator)
    for name, size in {"count": count, "height": height, "width": width}.items():
        check_whole(name, size, 1)
    check_positive("power", power)
    for number in sizes:
        check_finite("sizes", number)
    if not LEAST_SIZE <= sizes[0] <= sizes[1]:
        raise ValueError(f"`sizes` should rise and be at least {LEAST_SIZE} pixels. Found {sizes}. Take (0.8, 2.0).")
    check_share("pooled", pooled)
    check_flag("balanced", balanced)
    draw = torch.rand(5, count, 1, generator=generator)
    y, x = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    dx, dy = x.flatten() - width * draw[0], y.flatten() - height * draw[1]
    size = sizes[0] + (sizes[1] - sizes[0]) * draw[2]
    field = torch.exp(-0.5 * (dx.square() + dy.square()) / size.square())
    field = field / field.sum(1, keepdim=True)
    angle, frequency = math.pi * draw[3], (1 + draw[4]) / (2 * size)
    phase = frequency * (dx * angle.cos() + dy * angle.sin()) * math.pi
    pools = torch.arange(count).unsqueeze(1) < int(pooled * count)
    pair: list[Tensor] = []
    for wave in (phase.cos(), phase.sin()):
        gabor = field * wave
        gabor = gabor - field * gabor.sum(1, keepdim=True) if balanced else gabor  # a field sums to 1
        pair.append(torch.where(pools, field * math.sqrt(0.5), gabor))
    return SimulatedVoxels(torch.stack(pair, 1), float(power))
