"""The table: which kinds of graph nodes that read a parameter have a formula for its environments' gradients."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import Read
from mechlearn.agreement.engine.layers import convolution, embedding, grouped, matrices, normalisation, recurrent, scaling
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.matrices import Product
from mechlearn.agreement.engine.layers.terms import Term


class Formula(NamedTuple):
    """How one kind of node is treated.

    Attributes:
        take: from a node, the slots through which it reads parameters, its incoming gradient and whose rows these are, to a
            term for each slot.
        why_not: from a read to the reason why it has no formula after all, or None.
        of_all: whether ``take`` is given the gradients of all outputs, None where there is none, not the first one's alone.
        slots: those through which it is for parameters; None is all. Where a gradient is one environment's a parameter may be
            what is normalised or convolved, in an input's place.
    """

    take: Callable[[Node, Sequence[int], Any, Layout], list[Term]]
    why_not: Callable[[Read], str | None]
    of_all: bool = False
    slots: tuple[int, ...] | None = None


def _broadcast(factor: scaling.Factor | None) -> Formula:
    return Formula(scaling.taking(factor), scaling.why_not)


def _product(left: tuple[int, str], right: tuple[int, str], bias: int | None = None) -> Formula:
    product = Product(left, right, bias)
    return Formula(product.take, product.why_not)


_AFFINE = (normalisation.WEIGHT, normalisation.BIAS)
_TABLE, _SLOPE = (0,), (1,)

FORMULAS: dict[str, Formula] = {
    "MmBackward0": _product((0, "self"), (1, "mat2")),
    "BmmBackward0": _product((0, "self"), (1, "mat2")),
    "AddmmBackward0": _product((1, "mat1"), (2, "mat2"), 0),
    "BaddbmmBackward0": _product((1, "batch1"), (2, "batch2"), 0),
    "GroupedMmBackward0": Formula(grouped.take, grouped.why_not, slots=(grouped.MATRICES,)),
    "MvBackward0": Formula(matrices.vector, matrices.why_no_vector),
    "DotBackward0": Formula(matrices.dot, scaling.why_not),
    "TrilinearBackward0": Formula(matrices.bilinear, matrices.why_no_bilinear),
    "AddBackward0": _broadcast(scaling.add),
    "SubBackward0": _broadcast(scaling.subtract),
    "MulBackward0": _broadcast(scaling.multiply),
    "DivBackward0": Formula(scaling.divide, scaling.why_not),
    "WhereBackward0": _broadcast(scaling.choose),
    "PreluKernelBackward0": _broadcast(scaling.leak)._replace(slots=_SLOPE),
    "ExpandBackward0": _broadcast(None),
    "RepeatBackward0": Formula(scaling.repeat, scaling.why_not_repeated),
    "EmbeddingBackward0": Formula(embedding.take, embedding.why_not, slots=_TABLE),
    "EmbeddingBagBackward0": Formula(embedding.bag, embedding.why_no_bag, slots=_TABLE),
    "IndexBackward0": Formula(embedding.indexed, embedding.why_no_index, slots=_TABLE),
    "IndexSelectBackward0": Formula(embedding.indexed, embedding.why_no_index, slots=_TABLE),
    "NativeLayerNormBackward0": Formula(normalisation.layer, normalisation.why_no_layer, slots=_AFFINE),
    "NativeGroupNormBackward0": Formula(normalisation.group, normalisation.why_not, slots=_AFFINE),
    "FusedRmsNormBackward0": Formula(normalisation.mean_square, normalisation.why_no_layer, slots=_AFFINE),
    "NativeBatchNormBackward0": Formula(normalisation.batch, normalisation.why_not, slots=_AFFINE),
    "CudnnBatchNormBackward0": Formula(normalisation.batch, normalisation.why_not, slots=_AFFINE),
    "ConvolutionBackward0": Formula(convolution.take, normalisation.why_not, slots=(convolution.WEIGHT, convolution.BIAS)),
    "MkldnnRnnLayerBackward0": Formula(recurrent.take, recurrent.why_not, of_all=True),
}
"""By the name of the node in autograd's graph."""
