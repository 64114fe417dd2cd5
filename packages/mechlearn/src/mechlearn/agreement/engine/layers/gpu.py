"""Which tensors go to the Triton kernel, and how they are handed over."""

import functools
import importlib.util
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.sums import RunningSums

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@functools.cache
def _installed() -> bool:
    return importlib.util.find_spec("triton") is not None


def usable(sums: RunningSums, deltas: Tensor) -> bool:
    """Tell whether to use the kernel: float32 or less on a CUDA device, signs and nothing else, and Triton at hand."""
    return deltas.is_cuda and deltas.dtype in _DTYPES and sums.needs == frozenset({"sign"}) and _installed()


def add_products(sums: RunningSums, left: Float[Tensor, "r o"], right: Float[Tensor, "r i"], sizes: Sequence[int]) -> None:
    """Add every environment's product, the gradient of a linear layer's weight.

    Args:
        sums: where to add.
        left: each environment's rows adjacent.
        right: in the same order.
        sizes: how many rows each environment has.
    """
    # Features are channels of an image of one position.
    _add(sums, left[:, :, None, None], right[:, :, None, None], sizes)


def add_convolution(
    sums: RunningSums,
    shape: "Shape",
    deltas: Float[Tensor, "b o *out"],
    inputs: Float[Tensor, "b c *space"],
    sizes: Sequence[int],
) -> None:
    """Add every environment's gradient of a convolution's weight, in one dimension or two.

    Args:
        sums: where to add.
        shape: of the convolution.
        deltas: each environment's examples adjacent.
        inputs: in the same order.
        sizes: how many examples each environment has.
    """
    if deltas.dim() == 3:  # a line is an image of height 1
        deltas, inputs = deltas[:, :, None], inputs[:, :, None]
    _add(sums, deltas, inputs, sizes, shape)


def add_steps(sums: RunningSums, left: Float[Tensor, "t b *n o"], right: Float[Tensor, "t b *n i"], environments: int) -> None:
    """Add every environment's product of factors that lie step by step, as they lie.

    Args:
        sums: where to add.
        left: equally large environments adjacent along B; at most one dimension n.
        right: likewise.
        environments: E.
    """
    # Steps are an image's rows, further positions its columns.
    deltas, inputs = ((t.unsqueeze(2) if t.dim() == 3 else t).movedim((1, 3), (0, 1)) for t in (left, right))
    _add(sums, deltas, inputs, (left.shape[1] // environments,) * environments)


def steps_usable(sums: RunningSums, left: Tensor, right: Tensor) -> bool:
    """Tell whether `add_steps` takes factors: a step's place in memory is counted in 32 bits there."""
    return usable(sums, left) and usable(sums, right) and left.dim() <= _STEPS and max(_reach(left), _reach(right)) < _COUNTED


def _reach(tensor: Tensor) -> int:
    """Return how far a tensor's last number lies behind its first."""
    return sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def masked_mean(gradient: Tensor, sign: Tensor, environments: int, least: int) -> tuple[Tensor, Tensor]:
    """Turn sums into the AND-mask's mean in place, where they are `maskable`: see the kernel of that name."""
    from mechlearn.agreement.kernels import triton_tiles  # noqa: PLC0415  # needs Triton

    return triton_tiles.masked_mean(gradient, sign, environments, least)


def maskable(gradient: Tensor, sign: Tensor) -> bool:
    """Tell whether the kernel of the AND-mask takes sums: float32 on a CUDA device, and Triton at hand."""
    plain = gradient.dtype == sign.dtype == torch.float32 and gradient.is_contiguous() and sign.is_contiguous()
    return gradient.is_cuda and plain and 0 < gradient.numel() < _COUNTED and _installed()


_STEPS, _COUNTED = 4, 2**31
"""The dimensions that a factor may have, and how many numbers are counted in 32 bits."""


class Shape(NamedTuple):
    """What decides how a convolution meets its input, one number a dimension each; see `torch.nn.Conv2d`.

    Attributes:
        weight: the weight's whole shape, of which the kernel is the end.
        stride, padding, dilation, groups, output_padding: as of the layer.
        transposed: whether it is a transposed one.
    """

    weight: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    transposed: bool
    output_padding: tuple[int, ...]

    @property
    def kernel(self) -> tuple[int, ...]:
        """The size of the kernel."""
        return self.weight[2:]


def _add(sums: RunningSums, deltas: Tensor, inputs: Tensor, sizes: Sequence[int], shape: Shape | None = None) -> None:
    """Add what the kernel makes of images, of a convolution or, without a shape, of a linear layer."""
    from mechlearn.agreement.kernels.triton_tiles import Geometry, weight_sums  # noqa: PLC0415  # needs Triton

    geometry = Geometry()
    if shape is not None:
        around = _both(shape.kernel, 1), _both(shape.stride, 1), _both(shape.padding, 0), _both(shape.dilation, 1)
        geometry = Geometry(*around, shape.groups)
    total, sign = weight_sums(deltas, inputs, tuple(sizes), geometry)
    sums.add_sums(len(sizes), total.view(sums.shape), sign.view(sums.shape))


def _both(sizes: Sequence[int], neutral: int) -> tuple[int, int]:
    """Return the sizes of two dimensions, where there is one that of a height which changes nothing before it."""
    return (neutral, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])
