"""Convolutions in one, two or three dimensions, with stride, padding, dilation and groups, transposed or not.

Exact ways, chosen by shape. A grouped convolution: c environments' inputs side by side as channel groups of one convolution,
whose weight gradient is then all of theirs. Unfolding: an example's patches as a matrix, times delta; for a large weight tile
by tile, so that what is formed, signed and added stays in cache. On a GPU: `mechlearn.agreement.kernels.triton_tiles`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.graph import Node
from torch.nn.functional import unfold

from mechlearn.agreement.engine.analysis.saved import saved
from mechlearn.agreement.engine.layers import gpu
from mechlearn.agreement.engine.layers.gpu import Shape
from mechlearn.agreement.engine.layers.layout import Layout, slices_of, starts_of
from mechlearn.agreement.engine.layers.products import add_tiles
from mechlearn.agreement.engine.layers.terms import Span, Stacked, Term
from mechlearn.agreement.engine.sums import RunningSums

UNFOLD_ELEMENTS = 2**19
"""From this many weights on, tiles of matrix products on unfolded patches beat a grouped convolution (measured on CPU)."""

GROUPED_ENVIRONMENTS = 32
"""At most this many environments become channel groups of one convolution; more are slower again (measured on CPU)."""

INPUT, WEIGHT, BIAS = range(3)
"""What a convolution's node reads."""


def take(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of a convolution's weight and bias."""
    terms: list[Term] = []
    layout = layout.by_first(len(delta))
    for slot in slots:
        if slot == BIAS:
            terms.append(Stacked(layout.sums(delta.flatten(2).sum(2))))
            continue
        inputs = layout.grouped(saved(node, "input").to(delta.dtype))
        terms.append(Convolved(inputs, layout.grouped(delta), layout.sizes, _shape(node)))
    return terms


class Convolved(Term):
    """The weight of a convolution, (o, i / groups, *kernel); of a transposed one (i, o / groups, *kernel).

    Args:
        inputs: (B, i, *space), each environment's examples adjacent.
        deltas: (B, o, *out), in the same order.
        sizes: how many examples each environment has.
        shape: of the convolution.
    """

    longest = GROUPED_ENVIRONMENTS

    def __init__(self, inputs: Tensor, deltas: Tensor, sizes: Sequence[int], shape: Shape) -> None:
        self.inputs, self.deltas, self.sizes, self.shape = inputs, deltas, tuple(sizes), shape
        self.environments = len(sizes)
        self.equal = min(sizes) == max(sizes)
        self.starts = starts_of(sizes)
        if not self.equal:
            self.longest = 1

    def gradients(self, span: Span) -> Float[Tensor, "c _ _ *kernel"]:
        """Return the span's gradients by one grouped convolution."""
        some = slice(self.starts[span.first], self.starts[span.first + span.length])
        inputs, deltas = (t[some].unflatten(0, (span.length, -1)) for t in (self.inputs, self.deltas))
        return _grouped(self.shape, inputs, deltas)

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient by the way that suits the shape."""
        shape = self.shape
        if not shape.transposed and len(shape.kernel) < 3 and gpu.usable(sums, self.deltas):
            gpu.add_convolution(sums, shape, self.deltas, self.inputs, self.sizes)
        elif not shape.transposed and len(shape.kernel) == 2 and shape.groups == 1 and sums.shape.numel() >= UNFOLD_ELEMENTS:
            self._add_unfolded(sums)
        else:
            super().add(sums)

    def _add_unfolded(self, sums: RunningSums) -> None:
        """Form each environment's gradient as delta patches^T, a tile of output channels at a time."""
        shape, deltas = self.shape, self.deltas.flatten(2)
        patches = unfold(self.inputs, shape.kernel, shape.dilation, shape.padding, shape.stride)
        rows = list(slices_of(self.sizes))
        left, right = ([t[some].transpose(0, 1).flatten(1) for some in rows] for t in (deltas, patches))
        add_tiles(sums, left, [patch.T for patch in right])


def _shape(node: Node) -> Shape:
    weight = saved(node, "weight")
    stride, padding, dilation = (tuple(saved(node, name)) for name in ("stride", "padding", "dilation"))
    groups, transposed = int(saved(node, "groups")), bool(saved(node, "transposed"))
    output_padding = tuple(saved(node, "output_padding"))
    return Shape(tuple(weight.shape), stride, padding, dilation, groups, transposed, output_padding)


def _grouped(
    shape: Shape, inputs: Float[Tensor, "c n i *space"], deltas: Float[Tensor, "c n o *out"]
) -> Float[Tensor, "c _ _ *kernel"]:
    """Environments become channel groups: (n, c i, *space) convolved with c times the convolution's groups."""
    count = len(inputs)
    # Only the weight's shape is read when neither input nor bias gradients are asked for.
    weight = deltas.new_empty(count * shape.weight[0], *shape.weight[1:])
    _, gradient, _ = torch.ops.aten.convolution_backward(
        _ordinary(deltas.transpose(0, 1).flatten(1, 2)),
        _ordinary(inputs.transpose(0, 1).flatten(1, 2)),
        weight,
        None,
        list(shape.stride),
        list(shape.padding),
        list(shape.dilation),
        shape.transposed,
        list(shape.output_padding),
        count * shape.groups,
        [False, True, False],
    )
    return gradient.unflatten(0, (count, -1))


def _ordinary(tensor: Tensor) -> Tensor:
    """Return a tensor whose dimensions of size 1 have ordinary strides: others make torch look for a memory format."""
    return tensor.reshape(-1).view(tensor.shape) if tensor.is_contiguous() else tensor
