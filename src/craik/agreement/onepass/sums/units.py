"""Sums of environment gradients divided by their norms, as `craik.agreement.normalised` defines it, and those norms."""

import torch
from jaxtyping import Float
from torch import Tensor

from craik.agreement.normalised import lengths, or_one
from craik.agreement.onepass.sums.running import RunningSums


class UnitSums(RunningSums):
    """The statistics of one parameter whose environment gradients are divided by their own norms."""

    in_whole = True

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add the gradients of c further environments, each divided by its norm; their memory is overwritten."""
        wide = gradients.to(self.dtype)
        super().add(wide.div_(_over(lengths(wide), wide)))


class Lengths(RunningSums):
    """The norms of one parameter's environment gradients, and no sums.

    Args:
        like: the parameter.
    """

    in_whole = True

    def __init__(self, like: Tensor) -> None:
        super().__init__(like, frozenset())
        self._found: list[Tensor] = []

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Take the norms of the gradients of c further environments."""
        self._found.append(lengths(gradients))

    def add_silent(self, environments: int) -> None:
        """Take the norms of environments whose losses do not reach the parameter."""
        self._found.append(torch.zeros(environments, dtype=torch.float64, device=self.device))

    def values(self) -> Float[Tensor, " e"]:
        """Return the norms."""
        return torch.cat(self._found)


def of_model(found: list[Lengths]) -> Float[Tensor, " e"]:
    """Return what each environment's gradient is to be divided by: its norm over all parameters, 1 where that is 0."""
    return or_one(lengths(torch.stack([each.values() for each in found], dim=1)))


def _over(norms: Tensor, like: Tensor) -> Tensor:
    return or_one(norms).to(like.dtype).view(-1, *[1] * (like.dim() - 1))
