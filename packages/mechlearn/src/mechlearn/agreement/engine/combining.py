"""From one parameter's sums to its combined gradient: a rule applied in the sums' own memory."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import isfinite

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from mechlearn.agreement.engine.layers import gpu
from mechlearn.agreement.engine.sums import RunningSums, SideBySide
from mechlearn.agreement.engine.sums.batched import added_together
from mechlearn.agreement.rules import (
    AndMask,
    Consuming,
    GeometricMean,
    Homogeneous,
    Mean,
    MedianSign,
    Qualitative,
    Rule,
    SignalToNoiseMask,
    Statistics,
    XorMask,
    check_needs,
    count_survivors,
    required_count,
)
from mechlearn.agreement.rules.base import slices
from mechlearn.agreement.rules.moments import needed
from mechlearn.environments import check_finite_sums


def combine_sums(
    rule: Rule, name: str, sums: RunningSums, refuse_nonfinite: bool, finite: dict[str, Tensor] | None = None
) -> tuple[Tensor, Tensor | int]:
    """Apply a rule to one parameter's sums and use them up.

    Args:
        rule: how to combine.
        name: the parameter's.
        sums: of its environment gradients, complete.
        refuse_nonfinite: raise where they are NaN or infinite; else such components are NaN in the result, masked or not.
        finite: where to leave the question whether they are finite, for `check_finite_together` to ask once; for a device that
            would have to be waited for. None asks at once.

    Returns:
        The gradient, and how many components survive: a number where that is known without waiting for a device.

    Raises:
        ValueError: the sums lack what the rule reads, as they were taken for another.
        FloatingPointError: the sums are NaN or infinite.
    """
    check_needs(rule, sums.needs)
    mean = sums.mean() if type(rule) is Mean and refuse_nonfinite else None
    if mean is not None and (finite is None or mean.device.type == "cpu"):
        check_finite_sums(name, mean)
        return mean, mean.numel()
    statistics = sums.statistics()
    if refuse_nonfinite:
        survivors = _in_one_pass(rule, sums)
        if survivors is not None:
            return statistics.gradient, survivors
        if type(rule) is AndMask and not rule.rescale and statistics.gradient.device.type == "cpu":
            return statistics.gradient, _in_slices(rule, name, statistics)
        if finite is not None and (found := _on_a_gpu(rule, statistics)):
            survivors, finite[name] = found
            return statistics.gradient, survivors
        if finite is None or statistics.gradient.device.type == "cpu":
            check_finite_sums(name, statistics.gradient)
        else:
            finite[name] = torch.isfinite(statistics.gradient).all()
    gradient, survives = _combined(rule, statistics, refuse_nonfinite)
    return gradient, _counted(survives)


def _in_slices(rule: AndMask, name: str, statistics: Statistics) -> int:
    """Look for what is not finite, apply the rule and count survivors in place, some components at a time, in cache."""
    survivors = 0
    for gradient, sign in slices(statistics.gradient, needed(statistics.sign, "sign")):
        check_finite_sums(name, gradient)
        _, survives = rule.consume(Statistics(statistics.environments, gradient, sign))
        survivors += int(_counted(survives))
    return survivors


def _counted(survives: Tensor) -> Tensor | int:
    """Count survivors by what does it fastest on a CPU: an array's operation for bytes, a sum where it is exact for floats."""
    if survives.device.type == "cpu" and survives.numel() and not any(survives.stride()):
        return survives.numel() * int(survives[(0,) * survives.dim()])  # one number for all
    if survives.device.type == "cpu" and survives.element_size() == 1:
        return int(np.count_nonzero(survives.numpy()))
    if survives.device.type == "cpu" and survives.dtype == torch.float32 and survives.numel() <= _EXACT:
        return int(survives.sum())
    return count_survivors(survives)


_EXACT = 2**24
"""Sums of ones up to this are exact in float32."""


def combine_and_keep(
    rule: Rule, name: str, sums: RunningSums, refuse_nonfinite: bool
) -> tuple[Tensor, Tensor, Bool[Tensor, "*p"]]:
    """Do as `combine_sums` does, and return which components survive as well."""
    check_needs(rule, sums.needs)
    statistics = sums.statistics()
    if refuse_nonfinite:
        check_finite_sums(name, statistics.gradient)
    gradient, survives = _combined(rule, statistics, refuse_nonfinite)
    return gradient, count_survivors(survives), survives != 0


_BY_COMPONENT = (AndMask, GeometricMean, Homogeneous, Mean, MedianSign, Qualitative, SignalToNoiseMask, XorMask)


def treats_components_alike(rule: Rule) -> bool:
    """Tell whether a rule is one of ours that treats every component by itself, so that parameters may lie end to end."""
    return type(rule) in _BY_COMPONENT and not getattr(rule, "rescale", False)


def combine_small(
    rule: Rule, waiting: Mapping[str, RunningSums], refuse_nonfinite: bool
) -> Iterator[tuple[str, Tensor, Tensor | int]]:
    """Apply a rule that treats every component by itself to several parameters at once, as `combine_sums` would to each.

    Yields:
        A name, the gradient, and how many components survive.
    """
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, sums in waiting.items():
        beside = isinstance(sums, SideBySide) and sums.beside
        held = None if beside else tuple((kind, tensor.dtype) for kind, tensor in sums.held.items())
        alike.setdefault((sums.dtype, sums.device, sums.needs, sums.environments, held), []).append(name)
    for names in alike.values():
        chosen = [waiting[name] for name in names]
        beside = [sums for sums in chosen if isinstance(sums, SideBySide) and sums.beside]
        found = _in_arrays(rule, beside) if beside and refuse_nonfinite else None
        if found is not None:
            yield from ((name, *result) for name, result in zip(names, found, strict=True))
            continue
        statistics = added_together(beside) if beside else _joint(chosen)
        # Where one must be named they come one by one.
        if len(names) == 1 or (refuse_nonfinite and not isfinite(statistics.gradient.sum())):
            for name, sums in zip(names, chosen, strict=True):
                yield name, *combine_sums(rule, name, sums, refuse_nonfinite)
            continue
        check_needs(rule, chosen[0].needs)
        gradient, survives = _combined(rule, statistics, refuse_nonfinite)
        sizes = [sums.shape.numel() for sums in chosen]
        # Copies: what a parameter's `.grad` is must not hold the others' in memory.
        parts: Sequence[Tensor] = torch.split_with_sizes_copy(gradient, sizes)  # pyright: ignore[reportAssignmentType]  # by its stub None
        for name, sums, part, count in zip(names, chosen, parts, _counted_each(survives, sizes), strict=True):
            yield name, part.view(sums.shape), count


def _in_arrays(rule: Rule, parameters: Sequence[SideBySide]) -> list[tuple[Tensor, int]] | None:
    """Apply an AND-mask to small parameters on a CPU: operations of arrays, as a tensor's cost more to call than to carry out.

    Sums are torch's; what is done here comes out the same in any library: signs and their sums are integers, a division is
    correctly rounded. None: not done, or not finite.
    """
    first = parameters[0]
    few = sum(sums.shape.numel() for sums in parameters) * first.environments <= _FEW
    if not few or type(rule) is not AndMask or rule.rescale or first.device.type != "cpu" or first.environments < 2:
        return None
    totals = [sums.total() for sums in parameters]  # memory of their own, as environments are at least two
    gradients = [total.numpy() for total in totals]
    if not all(isfinite(np.add.reduce(gradient)) for gradient in gradients):
        return None
    signs = np.concatenate([sums.rows().numpy() for sums in parameters], 1)
    sign = np.add.reduce(np.sign(signs, out=signs), 0)
    survives = np.abs(sign, out=sign) >= required_count(rule.threshold, first.environments)
    found: list[tuple[Tensor, int]] = []
    end = 0
    for sums, total, gradient in zip(parameters, totals, gradients, strict=True):
        start, end = end, end + len(gradient)
        kept = survives[start:end]
        np.divide(gradient, first.environments, out=gradient)
        np.multiply(gradient, kept, out=gradient)
        found.append((total.view(sums.shape), int(np.count_nonzero(kept))))
    return found


_FEW = 2**12
"""Of more gradients' components than these, signs are taken faster by tensors' operations."""


def _counted_each(survives: Tensor, sizes: Sequence[int]) -> Sequence[Tensor | int]:
    """Count survivors of parameters that lie end to end, none of them empty."""
    if survives.device.type != "cpu":
        # A few operations for all, where launches are what costs: ones counted up to each parameter's end, exactly.
        ones = survives.cumsum(0, dtype=torch.float64)
        ends = torch.stack([ones[end - 1] for end in accumulate(sizes)])
        return ends.diff(prepend=ends.new_zeros(1)).unbind()
    starts = [0, *accumulate(sizes[:-1])]
    return np.add.reduceat(survives.numpy(), starts, dtype=np.float64).astype(int).tolist()


def _joint(sums: Sequence[RunningSums]) -> Statistics:
    """Put several parameters' sums end to end."""
    every = [one.statistics() for one in sums]
    if len(every) == 1:
        return every[0]
    held = {name: torch.cat([one.held[name].reshape(-1) for one in sums]) for name in sums[0].held}
    gradient = torch.cat([one.gradient.reshape(-1) for one in every])
    return Statistics(every[0].environments, gradient, **held)


def _combined(rule: Rule, statistics: Statistics, refuse_nonfinite: bool) -> tuple[Tensor, Tensor]:
    # A mask must not hide an overflow from the GradScaler that is to find it.
    overflow = None if refuse_nonfinite else ~torch.isfinite(statistics.gradient)
    gradient, survives = (rule.consume if isinstance(rule, Consuming) else rule)(statistics)
    if overflow is not None:
        gradient.masked_fill_(overflow, torch.nan)
    return gradient, survives


def _on_a_gpu(rule: Rule, statistics: Statistics) -> tuple[Tensor, Tensor] | None:
    """Use the Triton kernel for what it can do, an AND-mask of float32: survivors, and whether all was finite; else None."""
    gradient, sign = statistics.gradient, statistics.sign
    if type(rule) is not AndMask or rule.rescale or sign is None or not gpu.maskable(gradient, sign):
        return None
    return gpu.masked_mean(gradient, sign, statistics.environments, required_count(rule.threshold, statistics.environments))


def _in_one_pass(rule: Rule, sums: RunningSums) -> int | None:
    """Use the compiled kernels for what they can do: an AND-mask of sign sums in bytes. None: not done, or not finite."""
    _, gradient, sign, *_ = statistics = sums.statistics()
    if sums.compiled is None or type(rule) is not AndMask or rule.rescale:
        return None
    if sign is None or sign.dtype != torch.int8 or not sign.is_contiguous() or not sums.compiled.takes(gradient):
        return None
    count = required_count(rule.threshold, statistics.environments)
    return sums.compiled.and_mask(gradient, sign, statistics.environments, count)
