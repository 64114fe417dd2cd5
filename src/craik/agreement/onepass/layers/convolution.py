"""Convolutions in one, two or three dimensions, with stride, padding, dilation and groups.

Exact ways, chosen by shape. A grouped convolution: c environments' inputs side by side as channel groups of one convolution,
whose weight gradient is then all of theirs. Unfolding: an example's patches as a matrix, times delta; for a large weight tile
by tile, so that what is formed, signed and added stays in cache. On a GPU: `craik.agreement.kernels.triton_tiles`.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import unfold

from craik.agreement.onepass.layers import gpu
from craik.agreement.onepass.layers.formula import Formula, PerExample, Span, Use, add_products
from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d

UNFOLD_ELEMENTS = 2**19
"""From this many weights on, tiles of matrix products on unfolded patches beat a grouped convolution (measured on CPU)."""

GROUPED_ENVIRONMENTS = 32
"""At most this many environments become channel groups of one convolution; more are slower again (measured on CPU)."""


def padding_of(layer: Convolution) -> tuple[int, ...] | None:
    """Return the zeros on each side of every dimension, or None where they are not the same on both sides."""
    if not isinstance(layer.padding, str):
        return tuple(layer.padding)
    if layer.padding == "valid":
        return (0,) * len(layer.kernel_size)
    total = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
    return None if any(t % 2 for t in total) else tuple(t // 2 for t in total)


class ConvolutionWeight(Formula):
    """The weight of a convolution, (o, i / groups, *kernel)."""

    longest = GROUPED_ENVIRONMENTS

    def gradients(self, use: Use, span: Span) -> Float[Tensor, "c o i *kernel"]:
        """Return the span's gradients by one grouped convolution."""
        return _grouped(_layer(use), span.split(use.inputs.to(use.deltas.dtype)), span.split(use.deltas))

    def add(self, sums: RunningSums, use: Use, groups: Environments) -> None:
        """Add every environment's gradient by the way that suits the layer's shape."""
        layer = _layer(use)
        if not isinstance(layer, nn.Conv3d) and gpu.usable(sums, use.deltas):
            gpu.add_convolution(sums, layer, _padding(layer), use.deltas, use.inputs.to(use.deltas.dtype), groups)
        elif isinstance(layer, nn.Conv2d) and layer.groups == 1 and layer.weight.numel() >= UNFOLD_ELEMENTS:
            _add_unfolded(sums, layer, use, groups)
        else:
            super().add(sums, use, groups)


class ConvolutionBias(PerExample):
    """The bias of a convolution: the sum of delta over positions."""

    reads_inputs = False

    def per_example(self, use: Use) -> Float[Tensor, "b o"]:
        """Return delta summed over space."""
        return use.deltas.flatten(2).sum(2)


def _layer(use: Use) -> Convolution:
    if not isinstance(use.layer, Convolution):
        raise TypeError(f"A convolution's formula needs a convolution. Found {type(use.layer).__name__}.")
    return use.layer


def _padding(layer: Convolution) -> list[int]:
    padding = padding_of(layer)
    if padding is None:
        raise ValueError(f"A convolution's padding should be the same on both sides. Found {layer.padding!r}.")
    return list(padding)


def _grouped(
    layer: Convolution, inputs: Float[Tensor, "c n i *space"], deltas: Float[Tensor, "c n o *out"]
) -> Float[Tensor, "c o i_g *kernel"]:
    """Environments become channel groups: (n, c i, *space) convolved with c times the layer's groups."""
    count, kernel = len(inputs), layer.weight.dim() - 2
    # Only the weight's shape is read when neither input nor bias gradients are asked for.
    weight = deltas.new_empty(count * layer.out_channels, *layer.weight.shape[1:])
    _, gradient, _ = torch.ops.aten.convolution_backward(
        deltas.transpose(0, 1).flatten(1, 2),
        inputs.transpose(0, 1).flatten(1, 2),
        weight,
        None,
        list(layer.stride),
        _padding(layer),
        list(layer.dilation),
        False,
        [0] * kernel,
        count * layer.groups,
        [False, True, False],
    )
    return gradient.unflatten(0, (count, -1))


def _add_unfolded(sums: RunningSums, layer: nn.Conv2d, use: Use, groups: Environments) -> None:
    """Form each environment's gradient as delta patches^T, a tile of output channels at a time."""
    deltas = use.deltas.flatten(2)
    inputs = use.inputs.to(deltas.dtype)
    patches = unfold(inputs, layer.kernel_size, layer.dilation, tuple(_padding(layer)), layer.stride)
    rows = list(groups.slices())
    left, right = ([t[some].transpose(0, 1).flatten(1) for some in rows] for t in (deltas, patches))
    add_products(sums, left, [patch.T for patch in right])
