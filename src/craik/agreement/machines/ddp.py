"""Environments spread over processes: rank = environment, or several a rank.

Every rank forms what its own environments' gradients add up to; sums of gradients and integer sums of signs are added up over
the ranks, and the rule is applied once to the totals. Sign sums travel in one byte a component for up to 127 environments and
in two beyond. Masks are bitwise those of one process, since integers have one sum; gradients are so with
``summation="rank"``, which adds them in the order of the ranks.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, no_type_check

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, distributed, nn
from torch.distributed import ProcessGroup

from craik.agreement.machines import collectives
from craik.agreement.rules import Rule, Statistics, count_survivors
from craik.environments import check_finite_sums

Summation = Literal["backend", "rank"]


def combine_across_ranks(
    parameters: Mapping[str, Tensor] | nn.Module,
    rule: Rule,
    *,
    statistics: Mapping[str, Statistics] | None = None,
    environments: int | None = None,
    group: ProcessGroup | None = None,
    summation: Summation = "backend",
    refuse_nonfinite: bool = True,
) -> dict[str, float]:
    """Replace ``.grad`` by what a rule makes of all ranks' environments; every rank gets the same.

    Without ``statistics`` each rank's ``.grad`` is the gradient of its one environment, as ``loss.backward()`` on a mean loss
    leaves it (under DistributedDataParallel inside ``no_sync()``). With several environments a rank, accumulate them with
    `craik.agreement.Agreement.accumulate` and pass what `collect` returns; ``.grad`` is then added to, as by
    `Agreement.backward`. A parameter that no rank's losses reach is left alone; one that some ranks' do not reach has gradient
    0, and so a disagreement, there.

    Args:
        parameters: a model, or parameters by name; the same on every rank.
        rule: the same on every rank.
        statistics: for each parameter that this rank's environments reach, what their gradients add up to; {} for a rank
            without data in this step.
        environments: how many environments all ranks together should have, checked; None does not ask, and warns of a single
            one.
        group: the process group; None for all processes.
        summation: "backend" leaves the order in which gradients are added to the backend; "rank" gathers them and adds them in
            the order of the ranks, as one process would that accumulates rank by rank, at the price of memory for every
            rank's gradient of one parameter at a time. With two ranks both are the same.
        refuse_nonfinite: as for `craik.agreement.Agreement`: turn it off with a GradScaler, which looks for NaN itself.

    Returns:
        For each parameter that received a gradient, the share of its components that survived.

    Raises:
        ValueError: ranks that differ in parameters or rule, or in what they say of the number of environments; the same
            sentence on every rank, and no gradient is touched.
        FloatingPointError: the gradients add up to NaN or infinity, on every rank alike; no gradient is touched.
        RuntimeError: a rank that is gone, or does not answer within the group's timeout; no gradient is touched.
    """
    named = _named(parameters)
    mine = _single(named, rule) if statistics is None else dict(statistics)
    total = collectives.shake_hands(named, mine, rule, environments, group)
    reached = collectives.reached_anywhere(named, mine, group)
    gradients: dict[str, Tensor] = {}
    shares: dict[str, float] = {}
    for name, parameter in named.items():
        if name not in reached:
            continue
        summed = all_reduce_statistics(mine.get(name, _silent(parameter, rule, mine)), total, group=group, summation=summation)
        if refuse_nonfinite:
            check_finite_sums(name, summed.gradient)
        gradients[name], survives = rule(summed)
        # A mask must not hide an overflow from the GradScaler that is to find it.
        gradients[name] = gradients[name].masked_fill(~torch.isfinite(summed.gradient), torch.nan)
        shares[name] = float(count_survivors(survives) / survives.numel())
    # Only now, when nothing can fail any more, is a gradient touched.
    for name, gradient in gradients.items():
        before, combined = named[name].grad, gradient.to(named[name].dtype)
        named[name].grad = combined if statistics is None or before is None else before + combined
    return shares


def all_reduce_statistics(
    statistics: Statistics, environments: int, *, group: ProcessGroup | None = None, summation: Summation = "backend"
) -> Statistics:
    """Return the sum of all ranks' statistics of one parameter; the argument stays as it is.

    Args:
        statistics: what this rank's environments add up to.
        environments: E of all ranks together, the same number on every rank.
        group: the process group; None for all processes.
        summation: who decides the order in which gradients are added.

    Raises:
        RuntimeError: a rank that is gone, or does not answer within the group's timeout.
    """
    gradient = _sum(statistics.gradient, group, summation)
    sign = None if statistics.sign is None else _sum_of_signs(statistics.sign, statistics.environments, environments, group)
    rest = (
        None if tensor is None else _sum(tensor, group, summation) for tensor in (statistics.log_magnitude, statistics.square)
    )
    return Statistics(environments, gradient, sign, *rest)


def _sum(tensor: Tensor, group: ProcessGroup | None, summation: Summation) -> Tensor:
    if summation == "backend":
        return collectives.all_reduce(tensor.clone(memory_format=torch.contiguous_format), group)
    rows = collectives.all_gather(tensor.contiguous(), group)
    total = rows[0]
    for row in rows[1:]:
        total += row
    return total


_BYTE = 127
_TWO_BYTES = 2**15 - 1
"""The most environments whose sign sums fit one byte, and two."""


def _sum_of_signs(sign: Shaped[Tensor, "*p"], mine: int, environments: int, group: ProcessGroup | None) -> Shaped[Tensor, "*p"]:
    if environments <= _BYTE:
        return collectives.all_reduce(sign.to(torch.int8), group)
    if environments <= _TWO_BYTES:
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


def _named(parameters: Mapping[str, Tensor] | nn.Module) -> dict[str, Tensor]:
    pairs = parameters.named_parameters() if isinstance(parameters, nn.Module) else parameters.items()
    return {name: parameter for name, parameter in pairs if parameter.requires_grad}


def _single(named: Mapping[str, Tensor], rule: Rule) -> dict[str, Statistics]:
    """What one environment's gradients add up to."""
    found: dict[str, Statistics] = {}
    for name, parameter in named.items():
        if parameter.grad is not None:
            found[name] = of_one(parameter.grad, rule)
    return found


def of_one(gradient: Float[Tensor, "*p"], rule: Rule) -> Statistics:
    """Return the statistics of a single environment's gradient."""
    sign = gradient.sign().to(torch.int8) if "sign" in rule.needs else None
    log_magnitude = gradient.abs().log() if "log_magnitude" in rule.needs else None
    return Statistics(1, gradient, sign, log_magnitude, gradient.square() if "square" in rule.needs else None)


def _silent(parameter: Tensor, rule: Rule, mine: Mapping[str, Statistics]) -> Statistics:
    """Environments whose losses do not reach a parameter."""
    zero = torch.zeros_like(parameter, memory_format=torch.contiguous_format).detach()
    count = next((found.environments for found in mine.values()), 0)
    sign = torch.zeros_like(zero, dtype=torch.int8) if "sign" in rule.needs else None
    # A rank without environments has no zero to report; one whose losses do not reach the parameter has.
    log_magnitude = torch.full_like(zero, -torch.inf if count else 0.0) if "log_magnitude" in rule.needs else None
    return Statistics(count, zero, sign, log_magnitude, zero.clone() if "square" in rule.needs else None)


class HookState(NamedTuple):
    """What `agreement_hook` needs to know.

    Attributes:
        rule: the same on every rank; applied parameter by parameter.
        group: the group of the DistributedDataParallel model; None for all processes.
    """

    rule: Rule
    group: ProcessGroup | None = None


@no_type_check  # torch asks for this return annotation and returns a base class of it, which run-time checkers refuse
def agreement_hook(state: HookState, bucket: distributed.GradBucket) -> torch.futures.Future[Tensor]:
    """Communication hook for DistributedDataParallel with one environment a rank: ``ddp.register_comm_hook(state, hook)``.

    ``loss.backward()`` on each rank's mean loss then leaves the combined gradient in ``.grad``. Gradients and signs of a bucket
    travel while the backward pass goes on. The sum of gradients is the backend's. A rank with several environments cannot use
    it, as their gradients are added before the hook sees them: see `combine_across_ranks`.

    Raises:
        RuntimeError: in the backward pass, where a rank is gone or does not answer within the group's timeout.
    """
    buffer, views = bucket.buffer(), bucket.gradients()
    world = distributed.get_world_size(state.group)
    # Taken before the buffer is overwritten by the sum.
    mine = [of_one(view, state.rule) for view in views]
    sums = {name: _flat(mine, name, world) for name in Statistics._fields[2:] if name in state.rule.needs}
    futures = [collectives.all_reduce_later(tensor, state.group).get_future() for tensor in (buffer, *sums.values())]

    def finish(done: torch.futures.Future[list[torch.futures.Future[Tensor]]]) -> Tensor:
        with collectives.answering():
            for future in done.wait():
                future.wait()
        if "sign" in sums and world > _BYTE:
            sums["sign"] = unpack_pairs(sums["sign"], world, buffer.shape)
        parts = {name: _split(flat, views) for name, flat in sums.items()}
        for k, view in enumerate(views):
            found = Statistics(world, view.clone(), **{name: part[k] for name, part in parts.items()})
            view.copy_(state.rule(found).gradient)
        return buffer

    return torch.futures.collect_all(futures).then(finish)


def _flat(found: list[Statistics], name: str, world: int) -> Shaped[Tensor, " n"] | Shaped[Tensor, " half"]:
    """One optional statistic of a bucket's parameters, end to end, as it travels."""
    flat = torch.cat([getattr(one, name).flatten() for one in found])
    return pack_pairs(flat, 1) if name == "sign" and world > _BYTE else flat


def _split(flat: Tensor, views: list[Tensor]) -> list[Tensor]:
    parts = flat.split([view.numel() for view in views])
    return [part.view(view.shape) for part, view in zip(parts, views, strict=True)]
