"""Linear layers on vectors or on any number of positions: e's gradient is the sum over its rows of delta a^T."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int8, Shaped
from torch import Tensor

from craik.agreement.kernels.compiled import Compiled
from craik.agreement.onepass.layers import gpu
from craik.agreement.onepass.layers.formula import (
    CHUNK_ELEMENTS,
    Formula,
    PerExample,
    Span,
    Use,
    add_products,
    chunk_length,
    spans,
)
from craik.agreement.onepass.sums import LONG, MOST_IN_BYTES, RunningSums
from craik.environments import Environments

# Not a public name of torch: where a release lacks it, or its signature, floats do the same.
_BYTE_PRODUCT: Callable[..., Tensor] | None = getattr(torch, "_int_mm", None)


BYTE_TILE_ELEMENTS = 2**16
"""A byte product has four bytes an element: this many at a time, so that they add 256 KiB to the memory of a step."""

NARROW = 64
"""With fewer inputs than this, and than outputs, a weight's gradient is formed transposed: its rows fill vectors better."""


class LinearWeight(Formula):
    """The weight of `torch.nn.Linear`, (o, i): products of what came in and what comes back."""

    def gradients(self, use: Use, span: Span) -> Float[Tensor, "c o i"]:
        """Return delta^T a for each environment of the span, over its examples and their positions."""
        deltas, inputs = (span.split(t).flatten(1, -2) for t in (use.deltas, use.inputs.to(use.deltas.dtype)))
        return torch.bmm(deltas.transpose(1, 2), inputs)

    def add(self, sums: RunningSums, use: Use, groups: Environments) -> None:
        """Add every environment's gradient; one example and one position an environment needs no gradient of its own.

        There sign(delta a^T) = sign(delta) sign(a)^T, so the sum of signs is one more matrix product.
        """
        alone = groups.count == len(use.deltas) and use.deltas.dim() == 2
        inputs = use.inputs.to(use.deltas.dtype)
        if not alone and gpu.usable(sums, use.deltas):
            gpu.add_linear(sums, use.deltas, inputs, groups)
            return
        if not alone or "log_magnitude" in sums.needs:
            _add_products(sums, use.deltas, inputs, groups)
            return
        sign = sign_products(use.deltas, inputs, sums.compiled) if "sign" in sums.needs else None
        # (delta a^T)^2 = delta^2 (a^2)^T, element by element.
        square = use.deltas.square().T @ inputs.square() if "square" in sums.needs else None
        sums.add_sums(groups.count, use.deltas.T @ inputs, sign, square=square)


def _add_products(sums: RunningSums, deltas: Tensor, inputs: Tensor, groups: Environments) -> None:
    """Add every environment's delta^T a: a large one by itself, tile by tile, small ones of equal sizes many at a time."""
    outputs, columns = sums.shape
    if columns < min(outputs, NARROW):
        across = RunningSums(inputs.new_empty(columns, outputs, dtype=sums.dtype), sums.needs, sums.compiled)
        _add_products(across, inputs, deltas, groups)
        count, *tensors = across.statistics()
        sums.add_sums(count, *(None if tensor is None else tensor.T.contiguous() for tensor in tensors))
    elif groups.equal and sums.shape.numel() < (LONG if inputs.device.type == "cpu" else CHUNK_ELEMENTS):
        for span in spans(groups, chunk_length(sums.shape.numel(), CHUNK_ELEMENTS)):
            left, right = (span.split(t).flatten(1, -2) for t in (deltas, inputs))
            sums.add(torch.bmm(left.transpose(1, 2), right).to(sums.dtype))
    else:
        rows = list(groups.slices())
        left, right = ([t[some].flatten(0, -2) for some in rows] for t in (deltas, inputs))
        add_products(sums, [t.T for t in left], right)


def sign_products(
    deltas: Float[Tensor, "e o"], inputs: Float[Tensor, "e i"], compiled: Compiled | None = None
) -> Shaped[Tensor, "o i"]:
    """Return sum_e sign(delta_e) sign(a_e)^T, integers.

    The factors are -1, 0 and 1 and the sums at most E: exact in any arithmetic that holds E. Bytes are several times faster
    than floats on a CPU.
    """
    if compiled is not None and len(deltas) <= MOST_IN_BYTES and compiled.takes(deltas, inputs):
        return compiled.sign_products(deltas, inputs)
    if deltas.device.type != "cpu" or _BYTE_PRODUCT is None or len(deltas) > MOST_IN_BYTES:
        wide = torch.promote_types(deltas.dtype, torch.float32)
        return deltas.sign().to(wide).T @ inputs.sign().to(wide)
    delta_signs, input_signs = _bytes(deltas.T), _bytes(inputs)
    rows, columns = deltas.shape[1], inputs.shape[1]
    result = torch.empty(rows, columns, dtype=torch.int8)
    tile = min(rows, chunk_length(columns, BYTE_TILE_ELEMENTS))
    tile = 2 ** (tile.bit_length() - 1)  # few shapes: the library keeps code for each
    wide = torch.empty(tile, columns, dtype=torch.int32)
    for some, target in zip(delta_signs.split(tile), result.split(tile), strict=True):
        target.copy_(_BYTE_PRODUCT(some, input_signs, out=wide[: len(some)]))
    return result


def _bytes(values: Float[Tensor, "r k"]) -> Int8[Tensor, "r k"]:
    """Return signs, some rows at a time, as their floats take four times the memory."""
    # Into fresh memory, not contiguous(): a matrix of one row or column may be contiguous with strides that the byte product
    # misreads (torch 2.13: of a (1, 2) matrix with strides (1, 1) it returns garbage).
    signs = torch.empty(values.shape, dtype=torch.int8)
    rows = chunk_length(values.shape[1], BYTE_TILE_ELEMENTS)
    for some, target in zip(values.split(rows), signs.split(rows), strict=True):
        target.copy_(some.sign())
    return signs


class LinearBias(PerExample):
    """The bias of `torch.nn.Linear`: the sum of delta over positions."""

    reads_inputs = False

    def per_example(self, use: Use) -> Float[Tensor, "b o"]:
        """Return delta summed over whatever lies between examples and features."""
        return use.deltas if use.deltas.dim() == 2 else use.deltas.flatten(1, -2).sum(1)
