"""Which tensors go to the Triton kernel, and how they are handed over."""

import functools
import importlib.util
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@functools.cache
def _installed() -> bool:
    return importlib.util.find_spec("triton") is not None


def usable(sums: RunningSums, deltas: Tensor) -> bool:
    """Tell whether to use the kernel: float32 or less on a CUDA device, signs and nothing else, and Triton at hand."""
    return deltas.is_cuda and deltas.dtype in _DTYPES and sums.needs == frozenset({"sign"}) and _installed()


def add_linear(sums: RunningSums, deltas: Tensor, inputs: Tensor, groups: Environments) -> None:
    """Add every environment's gradient of a linear layer's weight.

    Args:
        sums: where to add.
        deltas: (B, *positions, o) output gradients, each environment's examples adjacent.
        inputs: (B, *positions, i) inputs.
        groups: the partition of the batch.
    """
    from craik.agreement.kernels.triton_tiles import Geometry, weight_sums  # noqa: PLC0415  # needs Triton

    # Features are channels of an image that is one row of positions.
    deltas, inputs = (t.reshape(len(t), 1, -1, t.shape[-1]).permute(0, 3, 1, 2) for t in (deltas, inputs))
    total, sign = weight_sums(deltas, inputs, groups.sizes, Geometry())
    sums.add_sums(groups.count, total.view(sums.shape), sign.view(sums.shape))


def add_convolution(
    sums: RunningSums,
    layer: nn.Conv1d | nn.Conv2d,
    padding: Sequence[int],
    deltas: Tensor,
    inputs: Tensor,
    groups: Environments,
) -> None:
    """Add every environment's gradient of a convolution's weight, in one dimension or two.

    Args:
        sums: where to add.
        layer: the convolution.
        padding: its zeros on each side of every dimension.
        deltas: (B, o, *out) output gradients, each environment's examples adjacent.
        inputs: (B, c, *space) inputs.
        groups: the partition of the batch.
    """
    from craik.agreement.kernels.triton_tiles import Geometry, weight_sums  # noqa: PLC0415  # needs Triton

    if deltas.dim() == 3:  # a line is an image of height 1
        deltas, inputs = deltas[:, :, None], inputs[:, :, None]
    geometry = Geometry(
        _both(layer.kernel_size, 1), _both(layer.stride, 1), _both(padding, 0), _both(layer.dilation, 1), layer.groups
    )
    total, sign = weight_sums(deltas, inputs, groups.sizes, geometry)
    sums.add_sums(groups.count, total.view(sums.shape), sign.view(sums.shape))


def _both(sizes: Sequence[int], neutral: int) -> tuple[int, int]:
    """Return the sizes of two dimensions, where there is one that of a height which changes nothing before it."""
    return (neutral, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])
