"""Networks that compute the same with other weights: units rescaled, and balanced so that no scale is left to choose.

A unit of a ReLU network may have what comes in times c and what goes out times 1 / c, c > 0, and nothing changes. Slices of
the loss along filter-normalised directions do change (`craik.surfaces.directions`). Balanced networks have one scale: each
unit's incoming weights have the norm of its outgoing ones, which is the least sum of squares among all rescalings (Stock et
al. 2019, https://arxiv.org/abs/1902.10416; there for paths, here by alternating over layers).
"""

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from craik.arguments import check_each, check_kind, check_whole

Weighted = nn.Linear | nn.Conv1d | nn.Conv2d
_HOMOGENEOUS = (
    *(nn.ReLU, nn.LeakyReLU, nn.Identity, nn.Flatten, nn.Dropout, nn.Dropout2d),
    *(nn.MaxPool1d, nn.MaxPool2d, nn.AvgPool1d, nn.AvgPool2d),
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d),
)
"""Layers f with f(c x) = c f(x) for c > 0 that keep channels apart."""


class _Join(NamedTuple):
    """Two layers with units between them."""

    before: Weighted
    after: Weighted

    def incoming(self) -> Tensor:
        """(units,) norms of what comes in, biases apart."""
        return self.before.weight.flatten(1).norm(dim=1)

    def outgoing(self) -> Tensor:
        """(units,) norms of what goes out."""
        return self.columns().transpose(0, 1).flatten(1).norm(dim=1)

    def columns(self) -> Tensor:
        """The weights behind, (outputs, units, places): a view; after a Flatten a unit has several places."""
        return self.after.weight.view(len(self.after.weight), self.before.weight.shape[0], -1)

    def scale(self, factors: Tensor) -> None:
        """Multiply what comes in by a factor for each unit, and divide what goes out."""
        self.before.weight.mul_(factors.view(-1, *[1] * (self.before.weight.dim() - 1)))
        if self.before.bias is not None:
            self.before.bias.mul_(factors)
        self.columns().div_(factors[:, None])


def rescale_units(model: nn.Sequential, factors: Sequence[Float[Tensor, " _"]]) -> nn.Sequential:
    """Return a copy of a network that computes the same, with each hidden unit's incoming weights times a factor.

    Args:
        model: linear layers and ungrouped convolutions in sequence, with ReLU, LeakyReLU, pooling, Flatten or Dropout
            between them.
        factors: for each hidden layer one positive factor for each unit (channel).

    Raises:
        TypeError: no Sequential.
        ValueError: layers that are not positively homogeneous, other numbers of factors, factors that are not positive.
    """
    check_each("factors", factors, Tensor, "tensors, one for each hidden layer")
    made = _copy(model)
    joins = _joins(made)
    if [len(some) for some in factors] != [join.before.weight.shape[0] for join in joins]:
        found = [len(some) for some in factors]
        wanted = [join.before.weight.shape[0] for join in joins]
        raise ValueError(
            f"`factors` should have one number for each hidden unit, {wanted}. Found {found}. Leave the outputs out."
        )
    if not all(bool((some > 0).all()) for some in factors):
        raise ValueError("`factors` should be positive: ReLU lets no other sign through. Found some that are not.")
    with torch.no_grad():
        for join, some in zip(joins, factors, strict=True):
            join.scale(some.to(join.before.weight))
    return made


def balanced(model: nn.Sequential, sweeps: int = 10_000) -> nn.Sequential:
    """Return a copy of a network that computes the same, with incoming and outgoing norms of each hidden unit equal.

    Two networks that differ by `rescale_units` have the same balanced form, up to rounding. Units without incoming or outgoing
    weights are left as they are.

    Args:
        model: as for `rescale_units`.
        sweeps: over the hidden layers, at most; it ends where no factor is off 1 by more than rounding.

    Raises:
        TypeError: no Sequential.
        ValueError: layers that are not positively homogeneous.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> found = balanced(model)
    >>> bool(torch.allclose(found[0].weight.norm(dim=1), found[2].weight.norm(dim=0)))
    True
    """
    check_whole("sweeps", sweeps, least=1)
    made = _copy(model)
    joins = _joins(made)
    with torch.no_grad():
        for _ in range(sweeps):
            furthest = 0.0
            for join in joins:
                incoming, outgoing = join.incoming(), join.outgoing()
                alive = (incoming > 0) & (outgoing > 0)
                factors = torch.where(alive, (outgoing / incoming.clamp(min=torch.finfo(incoming.dtype).tiny)).sqrt(), 1.0)
                furthest = max(furthest, float((factors - 1).abs().max()))
                join.scale(factors)
            if furthest < 8 * torch.finfo(joins[0].before.weight.dtype).eps:
                break
    return made


def _copy(model: nn.Sequential) -> nn.Sequential:
    check_kind("model", model, nn.Sequential, "a torch.nn.Sequential of layers", way_out="Put its layers in one.")
    return copy.deepcopy(model)


def _joins(model: nn.Sequential) -> list[_Join]:
    layers: list[Weighted] = []
    for name, layer in model.named_children():
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d) and getattr(layer, "groups", 1) == 1:
            layers.append(layer)
        elif not isinstance(layer, _HOMOGENEOUS):
            raise ValueError(
                "Between a unit's incoming and outgoing weights there should only be layers with f(c x) = c f(x): ReLU, "
                f"LeakyReLU, pooling, Flatten. Found {type(layer).__name__} at {name!r}. Fold BatchNorm into the layer before."
            )
    if len(layers) < 2:
        raise ValueError(f"A network with hidden units has two layers or more. Found {len(layers)}. Add one.")
    return [_Join(before, after) for before, after in pairwise(layers)]
