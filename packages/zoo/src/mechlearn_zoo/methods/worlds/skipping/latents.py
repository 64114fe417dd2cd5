"""Latents of zero mean and unit covariance, measured once: what is matched or predicted dimension by dimension wants them.

An encoder's latents differ in scale, and a likelihood over dimensions would listen to the largest alone, or to noise.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_floats, check_positive


class Whitening(NamedTuple):
    """An affine map and its way back; (l, l) maps act on rows from the right.

    Attributes:
        mean: (l,) of the latents that were measured.
        forward: (l, l) to unit covariance.
        backward: (l, l) its inverse.
    """

    mean: Float[Tensor, " l"]
    forward: Float[Tensor, "l l"]
    backward: Float[Tensor, "l l"]

    def whiten(self, z: Float[Tensor, "*batch l"]) -> Float[Tensor, "*batch l"]:
        """Return latents as M sees them; other widths and types are refused, values are not looked at."""
        check_floats("z", z, "...", len(self.mean), like=self.mean)
        return (z - self.mean) @ self.forward

    def undo(self, z: Float[Tensor, "*batch l"]) -> Float[Tensor, "*batch l"]:
        """Return latents as the decoder sees them; refuses as `whiten` does."""
        check_floats("z", z, "...", len(self.mean), like=self.mean)
        return z @ self.backward + self.mean


def whitening(z: Float[Tensor, "..."], least: float = 1e-2) -> Whitening:
    """Measure latents: their covariance's eigenvectors, each divided by its standard deviation.

    Args:
        z: (n, l) latents of the training data, two or more.
        least: share of the largest standard deviation below which a direction counts as noise: it is divided by that much
            only, and stays small. An encoder may leave dimensions unused; blown up they would be matched like the others.

    Raises:
        TypeError: what is no tensor, or no number.
        ValueError: another shape, fewer than two latents, all the same, or not finite.
    """
    check_floats("z", z, "n", "l")
    check_positive("least", least)
    if len(z) < 2 or not bool(z.isfinite().all()):
        raise ValueError(f"`z` should be two finite latents or more. Found {len(z)}, or NaN. Leave broken ones out.")
    wide = z.detach().double()
    mean = wide.mean(0)
    values, vectors = torch.linalg.eigh((wide - mean).T @ (wide - mean) / len(z))
    deviations = values.clamp(min=0).sqrt()
    if not float(deviations[-1]) > 0:
        raise ValueError("`z` should vary. Found the same latent everywhere. Train the encoder.")
    deviations = deviations.clamp(min=least * float(deviations[-1]))
    forward, backward = vectors / deviations, (vectors * deviations).T
    return Whitening(*(part.to(z.dtype) for part in (mean, forward, backward)))
