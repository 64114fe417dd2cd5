"""What a step's environments did to each input feature: a picture of which inputs they disagree about."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.collected import Record
from mechlearn.arguments import check_whole

READS = frozenset({"sign", "magnitude"})
"""The statistics that `by_input` reads."""


class ByInput(NamedTuple):
    """Of each input feature, sums over the weights w that read it; all in float64.

    Attributes:
        signs: sum over w of abs(sum over e of sign(g_e)): E times the number of weights where all environments agree.
        kept: sum over w of abs(sum over e of g_e), the gradient mass that averaging leaves.
        cancelled: sum over w of (sum over e of abs(g_e)) - abs(sum over e of g_e), the mass that averaging cancels.
    """

    signs: Float[Tensor, " i"]
    kept: Float[Tensor, " i"]
    cancelled: Float[Tensor, " i"]


def by_input(record: Record, name: str | None = None, *, dim: int = 1) -> ByInput:
    """Return agreement and cancelled gradient mass by input feature of a first layer, of the step just taken.

    A feature about which the environments pull in opposite directions has much cancelled mass for what is kept. Early in
    training that tells a shortcut; at a minimum all that is kept goes to 0, and everything looks cancelled.

    Args:
        record: of a step whose `Agreement` was made with ``keep`` naming the weight.
        name: of the weight, (o, i) of a linear layer or (o, i, *kernel) of a convolution, whose features are channels; None
            where one is kept.
        dim: the weight's dimension that counts input features; 0 for an embedding, whose features are its entries.

    Raises:
        TypeError: no record.
        ValueError: a record that has not kept the parameter, or without what is read of it; a parameter without that dimension.
    """
    if not isinstance(record, Record):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        raise TypeError(f"`record` should be a Record, as Agreement.backward returns it. Found {type(record).__name__}.")
    check_whole("dim", dim)
    kept = record.statistics or {}
    if name is None and len(kept) == 1:
        (name,) = kept
    if name is None or name not in kept:
        raise ValueError(
            f"`name` should be that of a parameter whose sums were kept. Found {name!r}, and kept are {sorted(kept)}. Make the "
            "Agreement with keep=[NAME], the first layer's weight."
        )
    gradient, sign, magnitude = kept[name].gradient, kept[name].sign, kept[name].magnitude
    if sign is None or magnitude is None:
        raise ValueError(
            f"The sums of {name!r} should hold signs and magnitudes. Found none. Make the Agreement with keep=[{name!r}]."
        )
    if gradient.dim() < 2 or dim >= gradient.dim():
        raise ValueError(
            f"{name!r} should have a dimension {dim} that counts input features, beside others. Found shape "
            f"{tuple(gradient.shape)}. Name the weight of a linear layer or of a convolution."
        )
    others = [k for k in range(gradient.dim()) if k != dim]
    agreeing, mass, left = (tensor.double().abs() for tensor in (sign, magnitude, gradient))
    # By rounding the magnitude of a sum may exceed the sum of magnitudes.
    return ByInput(agreeing.sum(others), left.sum(others), torch.clamp(mass - left, min=0).sum(others))
