"""Networks that compute the same with other weights: units rescaled, and balanced so that no scale is left to choose.

A unit of a ReLU network may have what comes in times c and what goes out times 1 / c, c > 0, and nothing changes. Slices of
the loss along filter-normalised directions do change (`mechlearn.surfaces.directions`). Balanced networks have one scale: each
unit's incoming weights have the norm of its outgoing ones, which is the least sum of squares among all rescalings (Stock et
al. 2019, https://arxiv.org/abs/1902.10416; there for paths, here by alternating over layers).
"""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.arguments import check_each, check_kind, check_whole

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
        model: linear layers and ungrouped convolutions in sequence, each with weights of its own, with ReLU, LeakyReLU,
            pooling, Flatten or Dropout between them; of inputs with the examples first.
        factors: for each hidden layer one positive factor for each unit (channel).

    Raises:
        TypeError: no Sequential.
        ValueError: layers that are not positively homogeneous, weights that are computed or occur twice, ways between layers
            that mix units, other numbers of factors, factors that are not positive.
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
        ValueError: as `rescale_units`, factors apart.

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
    joins, between, before = list[_Join](), list[nn.Module](), None
    known = set[int]()
    for name, layer in model.named_modules(remove_duplicate=False):  # named_children names one that occurs twice only once
        if not name or "." in name:  # the whole, and parts of its layers
            continue
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d) and getattr(layer, "groups", 1) == 1:
            _check_weights(name, layer, known)
            if before is not None:
                _check_between(name, before, between, layer)
                joins.append(_Join(before, layer))
            before, between = layer, []
        elif isinstance(layer, _HOMOGENEOUS):
            between.append(layer)
        else:
            raise ValueError(
                "Between a unit's incoming and outgoing weights there should only be layers with f(c x) = c f(x): ReLU, "
                f"LeakyReLU, pooling, Flatten. Found {type(layer).__name__} at {name!r}. Fold BatchNorm into the layer before."
            )
    if not joins:
        raise ValueError(f"A network with hidden units has two layers or more. Found {0 if before is None else 1}. Add one.")
    return joins


def _check_weights(name: str, layer: Weighted, known: set[int]) -> None:
    """Reject weights that are computed from others, or that occur at another place, too: no factor is theirs alone."""
    own = [key for key in ("weight", "bias") if getattr(layer, key) is not None]
    if any(
        key not in dict(layer.named_parameters(recurse=False)) for key in own
    ):  # a parametrisation, or a hook that sets them
        raise ValueError(
            f"A layer's weights should be its parameters. Found some that are computed from others, such as weight norm, at "
            f"{name!r}. Remove it before: torch.nn.utils.parametrize.remove_parametrizations leaves the weights."
        )
    places = {getattr(layer, key).data_ptr() for key in own}
    if places & known:
        raise ValueError(
            f"Every layer should have weights of its own: factors of one place would rescale the other, too. Found a layer "
            f"or weights that occur twice, again at {name!r}. Leave such networks as they are."
        )
    known |= places


def _check_between(name: str, before: Weighted, between: Sequence[nn.Module], after: Weighted) -> None:
    """Reject ways between two layers on which a unit's numbers do not meet the weights that are divided for it."""
    dims, units = before.weight.dim() - 2, before.weight.shape[0]  # dims: of places, 0 behind a linear layer
    spread, known = dims > 0, True  # whether channels have an axis of their own
    for layer in between:
        if isinstance(layer, nn.Flatten) and dims:
            spread = spread and layer.start_dim > 1
            known = known and layer.start_dim >= 1 and (layer.start_dim > 1 or layer.end_dim in {-1, dims + 1})
        elif "Pool" in type(layer).__name__:
            known = known and spread and type(layer).__name__.endswith(f"{dims}d")
    columns = after.weight.shape[1]
    meets = columns % units == 0 if dims and not spread else columns == units
    if not (known and meets and spread == (not isinstance(after, nn.Linear))):
        raise ValueError(
            "A unit's numbers should reach the next layer as one channel, or from a convolution to a linear layer through "
            f"Flatten(1). Found {_way(before, between, after)}, at {name!r}. Write Flatten() before a linear layer, and "
            "pool channels only."
        )


def _way(*steps: Weighted | Sequence[nn.Module]) -> str:
    return " -> ".join(str(layer) for step in steps for layer in (step if isinstance(step, Sequence) else [step]))
