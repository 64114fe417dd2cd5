"""One parameter's statistics as ranks add them up: what travels, in how many bytes, and in which order it is added."""

from collections.abc import Collection, Mapping
from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.distributed import ProcessGroup

from mechlearn.agreement.distributed import collectives
from mechlearn.agreement.engine.sums import WIDE
from mechlearn.agreement.rules import EACH, STANDARD_ERRORS, Rule, Statistics

Summation = Literal["backend", "rank"]


def all_reduce_statistics(
    statistics: Statistics, environments: int, *, group: ProcessGroup | None = None, summation: Summation = "backend"
) -> Statistics:
    """Return the sum of all ranks' statistics of one parameter; the argument does not change.

    Args:
        statistics: what this rank's environments add up to.
        environments: E of all ranks together, the same number on every rank.
        group: the process group; None for all processes.
        summation: who decides the order in which gradients are added.
    """
    gradient = _sum(_wide(statistics.gradient), group, summation)
    sign = None if statistics.sign is None else _sum_of_signs(statistics.sign, statistics.environments, environments, group)
    rest = (
        None if tensor is None else _sum(_wide(tensor, name), group, summation)
        for name, tensor in zip(Statistics._fields[3:], statistics[3:], strict=True)  # what follows the sign
    )
    return Statistics(environments, gradient, sign, *rest)


def _wide(tensor: Tensor, name: str = "") -> Tensor:
    """Return what every rank holds, whoever formed it: float32 or wider, squares in float64."""
    return tensor.to(torch.float64 if name in WIDE else torch.promote_types(tensor.dtype, torch.float32))


def _sum(tensor: Tensor, group: ProcessGroup | None, summation: Summation) -> Tensor:
    if summation == "backend":
        return collectives.all_reduce(tensor.clone(memory_format=torch.contiguous_format), group)
    rows = collectives.all_gather(tensor.contiguous(), group)
    total = rows[0]
    for row in rows[1:]:
        total += row
    return total


BYTE = 127
TWO_BYTES = 2**15 - 1
"""The most environments whose sign sums fit one byte, and two."""


def _sum_of_signs(sign: Shaped[Tensor, "*p"], mine: int, environments: int, group: ProcessGroup | None) -> Shaped[Tensor, "*p"]:
    if environments <= BYTE:
        return collectives.all_reduce(sign.to(torch.int8), group)
    if environments <= TWO_BYTES:
        return unpack_pairs(collectives.all_reduce(pack_pairs(sign, mine), group), environments, sign.shape)
    return collectives.all_reduce(sign.to(torch.int32), group)


def pack_pairs(sign: Shaped[Tensor, "*p"], environments: int) -> Shaped[Tensor, " half"]:
    """Put two sign sums of at most two bytes each into one 32-bit integer, so that sums of such integers hold their sums.

    Neither gloo nor NCCL adds 16-bit integers. The lower half carries ``environments`` on top, so that it is never negative and
    borrows nothing from the upper one.

    Args:
        sign: integers in [-environments, environments].
        environments: of this rank; over all ranks at most 32767.
    """
    flat = sign.flatten().to(torch.int32)
    if len(flat) % 2:
        flat = torch.cat([flat, flat.new_zeros(1)])
    return (flat[1::2] << 16) + (flat[::2] + environments)


def unpack_pairs(packed: Shaped[Tensor, " half"], environments: int, shape: torch.Size) -> Shaped[Tensor, "*p"]:
    """Take sums of `pack_pairs` apart; ``environments`` is the number over all ranks."""
    flat = torch.stack([(packed & 0xFFFF) - environments, packed >> 16], dim=1).flatten()
    return flat[: shape.numel()].to(torch.int16).view(shape)


def of_one(gradient: Float[Tensor, "*p"], rule: Rule) -> Statistics:
    """Return the statistics of a single environment's gradient, in float32 or wider, as sums in two bytes would be rounded."""
    if rule.needs & (STANDARD_ERRORS | EACH):
        raise ValueError(
            "A rule of more than sums should be given what an Agreement has collected, as it reads examples or environments. "
            f"Found {rule!r} and gradients alone. Pass statistics=agreement.collect() to combine_across_ranks."
        )
    return _of_one(gradient, rule.needs)


def _of_one(gradient: Tensor, needs: Collection[str]) -> Statistics:
    gradient = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
    found = {
        "sign": lambda: gradient.sign().to(torch.int8),
        "log_magnitude": lambda: gradient.abs().log(),
        "square": lambda: gradient.double().square(),
        "magnitude": gradient.abs,
    }
    return Statistics(1, gradient, **{name: found[name]() for name in needs})


def silent(parameter: Tensor, rule: Rule, mine: Mapping[str, Statistics]) -> Statistics:
    """Environments whose losses do not reach a parameter."""
    zero = torch.zeros(parameter.shape, dtype=parameter.dtype, device=parameter.device)  # whole, where it is sharded
    count = next((found.environments for found in mine.values()), 0)
    none = {name: _wide(zero, name).clone() for name in rule.needs & STANDARD_ERRORS}
    found = _of_one(zero, rule.needs - STANDARD_ERRORS - EACH)._replace(environments=count, **none)
    # A rank without environments has no zero to report; one whose losses do not reach the parameter has.
    if count == 0 and found.log_magnitude is not None:
        found.log_magnitude.zero_()
    return found
