# Triton is no dependency, and its language is no Python: arguments are pointers or numbers, constants are in capitals.
# ruff: noqa: ANN001, ANN201, N803
# pyright: basic, reportMissingImports=false, reportPossiblyUnboundVariable=false, reportIndexIssue=false, reportInvalidTypeForm=false
"""Triton kernels: for the weights of linear layers and convolutions every environment's gradient, a tile at a time; a mask.

A program owns one tile of the weight. It goes through the environments, forms the tile of each one's gradient in registers,
takes its sign, and adds both up; no environment's gradient is ever in memory. Products are float32 as IEEE 754 has it, never
TF32. Imported where a tensor on a GPU asks for it and at no other time: see `mechlearn.agreement.engine.layers.gpu`.
"""

import functools
import inspect
from types import SimpleNamespace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

try:
    import triton
    import triton.language as tl

    def jit(function):
        """Compile a function as it stands, without what a checker of annotations has put around it."""
        return triton.jit(inspect.unwrap(function))
except ImportError:  # tools that read every file, such as a collector of doctests
    tl = SimpleNamespace(constexpr=int)

    def jit(function):
        """Leave a function as it is."""
        return function


PROGRAMS = 512
"""A small weight has few tiles: its environments are shared out until this many programs run."""

ROWS = 32
"""Rows, each a position of an example, that a program multiplies at a time, or fewer where no environment has as many."""


class Geometry(NamedTuple):
    """A convolution in two dimensions; a linear layer is one with a 1x1 kernel on (1, positions).

    Attributes:
        kernel: its height and width, and so on for the others.
        stride: see `torch.nn.Conv2d`.
        padding: zeros on each side.
        dilation: see `torch.nn.Conv2d`.
        groups: of channels.
    """

    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1


@jit
def _tile(
    deltas, inputs, starts, total, sign,
    environments, share, positions, out_width, height, width, rows, columns,
    delta_b, delta_o, delta_y, delta_x, input_b, input_c, input_y, input_x,
    stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x,
    KERNEL_Y: tl.constexpr, KERNEL_X: tl.constexpr, GROUPS: tl.constexpr,
    BLOCK_O: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr,
) -> None:  # fmt: skip
    """Sum one tile of the weight over a share of the environments: rows o are output channels, columns k = (c, y, x)."""
    group, part = tl.program_id(2) % GROUPS, tl.program_id(2) // GROUPS
    o = tl.program_id(0) * BLOCK_O + tl.arange(0, BLOCK_O)
    k = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    area = KERNEL_Y * KERNEL_X
    channel = group * (columns // area) + k // area
    tap_y, tap_x = (k % area) // KERNEL_X * dilation_y - pad_y, k % KERNEL_X * dilation_x - pad_x
    sums = tl.zeros((BLOCK_O, BLOCK_K), dtype=tl.float32)
    signs = tl.zeros((BLOCK_O, BLOCK_K), dtype=tl.int32)
    for e in range(part * share, tl.minimum(part * share + share, environments)):
        first, last = tl.load(starts + e) * positions, tl.load(starts + e + 1) * positions
        gradient = tl.zeros((BLOCK_O, BLOCK_K), dtype=tl.float32)
        for start in range(first, last, BLOCK_N):
            n = start + tl.arange(0, BLOCK_N)
            b, y, x = (n // positions).to(tl.int64), (n % positions) // out_width, n % out_width
            at = b * delta_b + y * delta_y + x * delta_x
            delta = tl.load(
                deltas + at[None, :] + ((group * rows + o) * delta_o)[:, None],
                mask=(n < last)[None, :] & (o < rows)[:, None],
                other=0.0,
            )
            in_y, in_x = (y * stride_y)[:, None] + tap_y[None, :], (x * stride_x)[:, None] + tap_x[None, :]
            inside = (in_y >= 0) & (in_y < height) & (in_x >= 0) & (in_x < width)
            patch = tl.load(
                inputs + (b * input_b)[:, None] + (channel * input_c)[None, :] + in_y * input_y + in_x * input_x,
                mask=inside & (n < last)[:, None] & (k < columns)[None, :],
                other=0.0,
            )
            gradient += tl.dot(delta.to(tl.float32), patch.to(tl.float32), input_precision="ieee")
        sums += gradient
        signs += (gradient > 0).to(tl.int32) - (gradient < 0).to(tl.int32)
    where = ((part * GROUPS + group) * rows + o).to(tl.int64)[:, None] * columns + k[None, :]
    valid = (o < rows)[:, None] & (k < columns)[None, :]
    tl.store(total + where, sums, mask=valid)
    tl.store(sign + where, signs.to(tl.float32), mask=valid)  # exact up to 2**24 environments


def weight_sums(
    deltas: Float[Tensor, "b o oh ow"], inputs: Float[Tensor, "b c h w"], sizes: tuple[int, ...], geometry: Geometry
) -> tuple[Float[Tensor, "o k"], Float[Tensor, "o k"]]:
    """Return the sum over environments of their weight gradients, and that of the gradients' signs.

    Args:
        deltas: the gradient with respect to a layer's output, each environment's examples adjacent; any strides.
        inputs: what the layer was given, in the same order; any strides.
        sizes: how many examples each environment has.
        geometry: of the layer.
    """
    _, channels, out_height, out_width = deltas.shape
    positions = out_height * out_width
    rows, kernel = channels // geometry.groups, geometry.kernel
    columns = inputs.shape[1] // geometry.groups * kernel[0] * kernel[1]
    blocks = [min(64, max(16, triton.next_power_of_2(n))) for n in (rows, columns)]
    block_n = min(ROWS, max(16, triton.next_power_of_2(max(sizes) * positions)))
    tiles = triton.cdiv(rows, blocks[0]) * triton.cdiv(columns, blocks[1]) * geometry.groups
    share = triton.cdiv(len(sizes), min(len(sizes), max(1, PROGRAMS // tiles)))
    parts = triton.cdiv(len(sizes), share)
    starts = _starts(sizes, deltas.device)
    total = torch.empty(parts, channels, columns, dtype=torch.float32, device=deltas.device)
    sign = torch.empty_like(total)
    grid = (triton.cdiv(rows, blocks[0]), triton.cdiv(columns, blocks[1]), geometry.groups * parts)
    with torch.cuda.device_of(deltas):  # where a kernel runs is the current device's business, not its arguments'
        _tile[grid](
            deltas, inputs, starts, total, sign,
            len(sizes), share, positions, out_width, *inputs.shape[2:], rows, columns,
            *deltas.stride(), *inputs.stride(),
            *geometry.stride, *geometry.padding, *geometry.dilation,
            KERNEL_Y=kernel[0], KERNEL_X=kernel[1], GROUPS=geometry.groups,
            BLOCK_O=blocks[0], BLOCK_K=blocks[1], BLOCK_N=block_n,
        )  # fmt: skip
    return (total[0], sign[0]) if parts == 1 else (total.sum(0), sign.sum(0))


BLOCK = 1024
"""Components that a program masks."""


@jit
def _mask(gradient, sign, counts, size, environments, least, BLOCK: tl.constexpr) -> None:
    """Turn a block's sums into masked means in place; count what survives, and what is not finite."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    total = tl.load(gradient + at, mask=inside, other=0.0)
    agreed = tl.load(sign + at, mask=inside, other=0.0)
    kept = (tl.abs(agreed) >= least) & inside
    # A product, not a choice: it gives the zeros their signs, as torch's operators do.
    tl.store(gradient + at, tl.div_rn(total, environments) * kept.to(tl.float32), mask=inside)
    finite = tl.abs(total) < float("inf")
    tl.atomic_add(counts, tl.sum(kept.to(tl.int32), 0).to(tl.float64))
    tl.atomic_add(counts + 1, tl.sum((inside & ~finite).to(tl.int32), 0).to(tl.float64))


def masked_mean(
    gradient: Float[Tensor, "*p"], sign: Float[Tensor, "*p"], environments: int, least: int
) -> tuple[Float[Tensor, ""], Bool[Tensor, ""]]:
    """Turn sums into the AND-mask's mean in place; return how many components survive, and whether all sums were finite.

    Args:
        gradient: the sum of the environments' gradients, contiguous float32.
        sign: that of their signs, likewise.
        environments: E.
        least: what the absolute sum of signs has to be.
    """
    size, counts = gradient.numel(), torch.zeros(2, dtype=torch.float64, device=gradient.device)
    with torch.cuda.device_of(gradient):
        _mask[(triton.cdiv(size, BLOCK),)](gradient, sign, counts, size, float(environments), float(least), BLOCK=BLOCK)
    return counts[0], counts[1] == 0


@functools.lru_cache(maxsize=64)
def _starts(sizes: tuple[int, ...], device: torch.device) -> Int[Tensor, " e"]:
    """Return where each environment starts, and where the last ends; a copy to a device waits for all that it has to do."""
    return torch.tensor([0, *sizes]).cumsum(0).to(torch.int32).to(device)
