"""How statistics leave a traced backward pass: as gradients of carriers, tensors that hold nothing and need a gradient.

Sign sums fit a byte each where there are at most 126 environments; a gradient is a float, so four of them travel as one float32
that nobody computes with.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mechlearn.agreement.engine.sums import MOST_IN_BYTES, WIDE, RunningSums

IN_BYTES = "sign:bytes"
"""The name, among a plan's needs, of sign sums that travel four to a float."""

SERVED = frozenset({"sign", "log_magnitude", "square", "magnitude"})
"""The statistics that a stream of environments' gradients has."""


def names(needs: frozenset[str], environments: int) -> list[str]:
    """Return the statistics to be carried, in their order."""
    narrow = environments <= MOST_IN_BYTES
    return [IN_BYTES if name == "sign" and narrow else name for name in sorted(needs)]


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type in which gradients of a type are added up."""
    return dtype if dtype in (torch.float32, torch.float64) else torch.promote_types(dtype, torch.float32)


def layout(name: str, shape: Sequence[int], dtype: torch.dtype) -> tuple[tuple[int, ...], torch.dtype]:
    """Return the shape and type in which a statistic of a parameter travels; "gradient" for the sum of gradients."""
    if name == IN_BYTES:
        return (-(-torch.Size(shape).numel() // 4),), torch.float32
    return tuple(shape), torch.float64 if name in WIDE else wide(dtype)


def carriers(parameter: Tensor, needs: Sequence[str]) -> list[Tensor]:
    """Return a carrier for the sum of a parameter's gradients, and one for each of its statistics; they take no memory."""
    found: list[Tensor] = []
    for name in ("gradient", *needs):
        shape, dtype = layout(name, parameter.shape, parameter.dtype)
        found.append(torch.zeros((), dtype=dtype, device=parameter.device).expand(shape).requires_grad_())
    return found


def pack(sums: RunningSums, needs: Sequence[str]) -> list[Tensor]:
    """Return what a parameter's sums hold, as it travels."""
    found = sums.statistics()
    return [found.gradient.contiguous(), *(_packed(sums, name) for name in needs)]


def _packed(sums: RunningSums, name: str) -> Tensor:
    if name != IN_BYTES:
        return sums.held[name].to(layout(name, sums.shape, sums.dtype)[1]).contiguous()
    flat = sums.held["sign"].to(torch.int8).reshape(-1)
    if len(flat) % 4:
        flat = torch.cat([flat, flat.new_zeros(-len(flat) % 4)])
    return flat.contiguous().view(torch.float32)


def unpack(name: str, tensor: Tensor, shape: torch.Size) -> Tensor:
    """Return a statistic of a parameter from what travelled."""
    if name != IN_BYTES:
        return tensor
    return tensor.contiguous().view(torch.int8)[: shape.numel()].view(shape)
