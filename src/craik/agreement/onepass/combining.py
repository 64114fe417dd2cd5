"""From one parameter's sums to its combined gradient: a rule applied in the sums' own memory."""

from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from craik.agreement.onepass.sums import RunningSums
from craik.agreement.rules import AndMask, Consuming, Rule, count_survivors, required_count
from craik.environments import check_finite_sums


class Applied(NamedTuple):
    """What a rule has made of one parameter's sums.

    Attributes:
        gradient: combined.
        survivors: how many components survive.
        mask: which, None unless it was asked for.
    """

    gradient: Tensor
    survivors: Tensor
    mask: Bool[Tensor, "*p"] | None = None


def combine_sums(rule: Rule, name: str, sums: RunningSums, refuse_nonfinite: bool, mask: bool = False) -> Applied:
    """Apply a rule to one parameter's sums and use them up.

    Args:
        rule: how to combine.
        name: the parameter's.
        sums: of its environment gradients, complete.
        refuse_nonfinite: raise where they are NaN or infinite; else such components are NaN in the result, masked or not.
        mask: return which components survive.

    Raises:
        FloatingPointError: the sums are NaN or infinite.
    """
    statistics = sums.statistics()
    if refuse_nonfinite:
        survivors = None if mask else _in_one_pass(rule, sums)
        if survivors is not None:
            return Applied(statistics.gradient, torch.tensor(survivors, dtype=torch.float64))
        check_finite_sums(name, statistics.gradient)
    # A mask must not hide an overflow from the GradScaler that is to find it.
    overflow = None if refuse_nonfinite else ~torch.isfinite(statistics.gradient)
    gradient, survives = (rule.consume if isinstance(rule, Consuming) else rule)(statistics)
    if overflow is not None:
        gradient.masked_fill_(overflow, torch.nan)
    return Applied(gradient, count_survivors(survives), survives != 0 if mask else None)


def _in_one_pass(rule: Rule, sums: RunningSums) -> int | None:
    """Use the compiled kernels for what they can do: an AND-mask of sign sums in bytes. None: not done, or not finite."""
    _, gradient, sign, *_ = statistics = sums.statistics()
    if sums.compiled is None or type(rule) is not AndMask or rule.rescale:
        return None
    if sign is None or sign.dtype != torch.int8 or not sign.is_contiguous() or not sums.compiled.takes(gradient):
        return None
    count = required_count(rule.threshold, statistics.environments)
    return sums.compiled.and_mask(gradient, sign, statistics.environments, count)
