"""The check of the layer-by-layer path against autograd, made once for each kind of graph a model produces."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from craik.agreement.environments import Environments
from craik.agreement.gradients import RunningSums
from craik.agreement.layerwise import Calls, layer_pass

# How far the check lets float arithmetic in another order go. What it looks for (examples that are coupled, permuted or
# rescaled on the way) changes gradients by a good part of their size.
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-3}
_LOW_PRECISION_TOLERANCE = 5e-2


class Check(NamedTuple):
    """What `check_against_autograd` found.

    Attributes:
        verified: the names of the parameters whose layer formula is right on this graph.
        coupled: the name of a layer, where examples of different environments meet after every layer; else None.
        final: False where a gradient was 0 or not finite and so could not be told: the next call checks again.
        age: how often this kind of graph was seen before.
    """

    verified: frozenset[str]
    coupled: str | None
    final: bool = True
    age: int = 0


def check_against_autograd(
    losses: Float[Tensor, " b"],
    calls: Calls,
    parameters: Mapping[str, Tensor],
    groups: Environments,
    outside: Sequence[Tensor],
    age: int = 0,
) -> Check:
    """Find out for which parameters this graph bears the layer formula out, and whether environments are coupled.

    Two things are compared. If every environment's loss is multiplied by a number of its own, each row of a layer's
    output gradient must be multiplied by the number of its example's environment: this fails where examples of different
    environments meet (batch statistics, a loss over pairs) or rows are not the batch's examples in order. And the formula's
    sum over environments must be autograd's gradient: this fails where a hook changes a layer's output. The graph is kept.

    Args:
        losses: one loss for each example.
        calls: from `covered_calls`.
        parameters: the model's parameters by name.
        groups: the partition of the batch.
        outside: leaves outside the model, which may lie below the first layer.
        age: how often this kind of graph was seen before.
    """
    if not calls:
        return Check(frozenset(), None, age=age)
    weights = groups.mean_weights(losses)
    # Any numbers that differ between environments will do; a seed of its own keeps the caller's random stream as it is.
    factors = torch.rand(groups.count, generator=torch.Generator().manual_seed(0)) + 0.5
    row_factors = factors.to(weights)[groups.index]
    captures = list({id(capture): capture for reads in calls.values() for capture, _ in reads}.values())
    edges = [capture.edge for capture in captures]
    total = (losses * weights).sum()
    deltas = torch.autograd.grad(total, edges, retain_graph=True)
    scaled_deltas = torch.autograd.grad((losses * weights * row_factors).sum(), edges, retain_graph=True)

    kept_apart: set[int] = set()
    coupled: list[str] = []
    final = True
    for capture, delta, scaled in zip(captures, deltas, scaled_deltas, strict=True):
        if not bool(torch.isfinite(scaled).all()) or not bool(delta.any()):
            final = False  # a layer that starts at zero, or an overflow: this graph says nothing about it
        elif _close(scaled, _times_rows(delta, row_factors), delta.dtype):
            kept_apart.add(id(capture))
        elif not _rows_rearranged(delta, scaled, factors):
            coupled.append(capture.name or type(capture.layer).__name__)
    calls = {name: reads for name, reads in calls.items() if all(id(capture) in kept_apart for capture, _ in reads)}
    dtypes = {id(capture): delta.dtype for capture, delta in zip(captures, deltas, strict=True)}
    verified = _names_with_right_sums(total, calls, parameters, groups, outside, dtypes)
    # Where some layers keep examples apart, others may only hold rows that are no examples: the exact path serves them.
    return Check(verified, coupled[-1] if coupled and not kept_apart else None, final, age)


def _names_with_right_sums(
    total: Tensor,
    calls: Calls,
    parameters: Mapping[str, Tensor],
    groups: Environments,
    outside: Sequence[Tensor],
    dtypes: Mapping[int, torch.dtype],
) -> frozenset[str]:
    """Return the parameters whose formula adds up to autograd's gradient."""
    if not calls:
        return frozenset()
    found = torch.autograd.grad(total, [parameters[name] for name in calls], retain_graph=True)
    expected = dict(zip(calls, found, strict=True))
    del found
    sums = {name: RunningSums(parameters[name], frozenset()) for name in calls}
    right: set[str] = set()

    def compare(name: str) -> None:
        # Under autocast a float32 weight's gradient is a product in the delta's lower precision. Both gradients go at once.
        dtype = dtypes[id(calls[name][0].capture)]
        if _close(sums.pop(name).statistics().gradient, expected.pop(name), dtype):
            right.add(name)

    others = [*outside, *(parameter for name, parameter in parameters.items() if name not in calls)]
    layer_pass(total, calls, sums, groups, compare, others, retain_graph=True)
    return frozenset(right)


def _rows_rearranged(delta: Tensor, scaled: Tensor, factors: Tensor) -> bool:
    """Tell whether each row was still multiplied by one environment's factor, as when a model only reorders its examples."""
    delta, scaled, factors = delta.flatten(1), scaled.flatten(1), factors.to(delta)
    ratio = (scaled * delta).sum(1) / (delta * delta).sum(1).clamp(min=torch.finfo(delta.dtype).tiny)
    nearest = factors[(ratio[:, None] - factors).abs().argmin(1)]
    return _close(scaled, _times_rows(delta, nearest), delta.dtype)


def _times_rows(tensor: Tensor, factors: Tensor) -> Tensor:
    return tensor * factors.to(tensor.dtype).view(-1, *[1] * (tensor.dim() - 1))


def _close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    tolerance = _TOLERANCE.get(dtype, _LOW_PRECISION_TOLERANCE)
    return bool((found - expected).norm() <= tolerance * expected.norm())
