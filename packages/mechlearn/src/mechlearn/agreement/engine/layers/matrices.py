"""Products of matrices, of vectors and of stacks of matrices: which of their factors were saved, and what is summed over.

For c = a b, the gradient of a is delta b^T and that of b is a^T delta. It is a sum over examples where the dimension that tells
them apart is the one that is summed over.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import WHOLE, Read
from mechlearn.agreement.engine.analysis.saved import output_shape, saved, slot_shape
from mechlearn.agreement.engine.layers.gradual import MANY, Spread
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.products import StackedProducts, products
from mechlearn.agreement.engine.layers.scaling import reduced, scaled_bias, stacked
from mechlearn.agreement.engine.layers.scaling import why_not as why_no_shift
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, Stacked, Term


class Product(NamedTuple):
    """How a node multiplies.

    Attributes:
        left: the slot and the saved name of the left factor.
        right: those of the right one.
        bias: the slot of what is added, None where nothing is.
    """

    left: tuple[int, str]
    right: tuple[int, str]
    bias: int | None = None

    def take(self, node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
        """Return the terms of a product of matrices, or of stacks of them."""
        return [self._term(node, slot, delta, layout) for slot in slots]

    def _term(self, node: Node, slot: int, delta: Tensor, layout: Layout) -> Term:
        if slot == self.bias:
            return stacked(delta, slot_shape(node, slot), layout, scaled_bias(node, slot))
        # Both as (..., what is summed over, features): the gradient is left^T right.
        if slot == self.left[0]:
            left, right = delta.mT, saved(node, self.right[1]).mT
        else:
            left, right = saved(node, self.left[1]), delta
        alpha = 1 if self.bias is None else saved(node, "alpha")
        return _product(left if alpha == 1 else left * alpha, right, layout)

    def why_not(self, read: Read) -> str | None:
        """Say why a product has no formula: examples lie along a dimension that the parameter has too."""
        if read.slot == self.bias:
            return why_no_shift(read)
        if _is_sparse(read.node, self.right[1] if read.slot == self.left[0] else self.left[1]):
            return _SPARSE
        summed = len(output_shape(read.node)) - (1 if read.slot == self.left[0] else 2)
        return None if read.rows.dim in (WHOLE, summed) else "is a factor whose examples lie along the parameter"


_SPARSE = "is multiplied by a sparse matrix, for which there is no formula"


def _is_sparse(node: Node, name: str) -> bool:
    """Tell whether a saved factor is sparse; what hooks have packed, a checkpoint's above all, is not unpacked for that."""
    packed = getattr(getattr(node, f"_raw_saved_{name}", None), "unpack_hook", None) is not None
    return not packed and saved(node, name).layout != torch.strided


def _spread(left: Tensor, right: Tensor, layout: Layout, dim: int) -> Spread | None:
    """Return products of factors that lie step by step as they lie, None for others and small ones."""
    rows, groups = layout.rows, layout.groups
    if rows.owners is not None or rows.outer < MANY or groups.order is not None or not groups.equal:
        return None
    if left.numel() < CHUNK_ELEMENTS:
        return None
    one, other = (t.movedim(dim, 0).unflatten(0, (rows.outer, -1)) for t in (left, right))
    return Spread(one, other, groups.count)


def vector(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of a matrix times a vector."""
    terms: list[Term] = []
    for slot in slots:
        left, right = (delta[None], saved(node, "vec")[None]) if slot == 0 else (delta[:, None], saved(node, "self"))
        terms.append(_product(left, right, layout))
    return terms


def why_no_vector(read: Read) -> str | None:
    """Say why a matrix times a vector has no formula."""
    if read.slot == 1 and _is_sparse(read.node, "self"):
        return _SPARSE
    good = WHOLE if read.slot == 0 else 0
    return None if read.rows.dim in (WHOLE, good) else "is a factor whose examples lie along the parameter"


def dot(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of a vector times a vector."""
    names = ("tensor", "self")
    found = [delta * saved(node, names[slot]) for slot in slots]
    return [Stacked(reduced(one, one.shape, layout)) for one in found]


def bilinear(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of a bilinear layer's weight (o, i, j): delta_o times the product of both inputs' components."""
    del slots
    deltas, dim = layout.along(delta)
    one, two = (layout.along(saved(node, name))[0] for name in ("i1", "i3"))
    return [products(deltas, (one[..., :, None] * two[..., None, :]).flatten(-2), layout, dim)]


def why_no_bilinear(read: Read) -> str | None:
    """Say why a product of three factors has no formula: only that of `torch.nn.Bilinear` has one."""
    node = read.node
    names = ("expand1", "expand2", "expand3", "sumdim")
    found = tuple(tuple(saved(node, name)) for name in names)
    usual = found == ((1, 3), (0,), (1, 2), (2, 3)) and read.slot == 1 and read.rows.dim in (WHOLE, 0)
    return None if usual else "is a factor of a product of three that torch.nn.Bilinear does not form"


def _product(left: Tensor, right: Tensor, layout: Layout) -> Term:
    """Return left^T right by environment, the last dimension but one summed over."""
    if layout.rows.dim == WHOLE:
        left, right, dim = left[None], right[None], 0
        stacked = left.dim() == 4 and left.shape[1] > 1
    else:
        dim = left.dim() - 2
        stacked = left.dim() == 3 and left.shape[0] > 1
    if not stacked:
        return _spread(left, right, layout, dim) or products(left, right, layout, dim)
    left, right = ((layout.grouped(t, dim)) for t in (left, right))
    if layout.rows.dim == WHOLE:  # (1, S, rows, features): all rows are of one environment
        left, right = (t[0].transpose(0, 1) for t in (left, right))
        sizes = tuple(size * len(left) for size in layout.sizes)
        return StackedProducts(left, right, sizes)
    return StackedProducts(left, right, layout.sizes)
