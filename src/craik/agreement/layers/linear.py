"""Linear layers on vectors or on any number of positions: e's gradient is the sum over its rows of delta a^T."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int8, Shaped
from torch import Tensor

from craik.agreement.environments import Environments, chunk_length
from craik.agreement.gradients import RunningSums
from craik.agreement.layers.formula import CHUNK_ELEMENTS, Formula, PerExample, Span, Use

# Not a public name of torch: where a release lacks it, or its signature, floats do the same.
_BYTE_PRODUCT: Callable[[Tensor, Tensor], Tensor] | None = getattr(torch, "_int_mm", None)


MOST_IN_BYTES = 126
"""With at most this many environments, sign sums and their differences with a threshold fit a signed byte."""


class LinearWeight(Formula):
    """The weight of `torch.nn.Linear`, (o, i): batched products, a chunk of environments at a time."""

    def gradients(self, use: Use, span: Span) -> Float[Tensor, "c o i"]:
        """Return delta^T a for each environment of the span, over its examples and their positions."""
        deltas, inputs = (span.split(t).flatten(1, -2) for t in (use.deltas, use.inputs.to(use.deltas.dtype)))
        return torch.bmm(deltas.transpose(1, 2), inputs)

    def add(self, sums: RunningSums, use: Use, groups: Environments) -> None:
        """Add every environment's gradient; one example and one position an environment needs no gradient of its own.

        There sign(delta a^T) = sign(delta) sign(a)^T, so the sum of signs is one more matrix product.
        """
        alone = groups.count == len(use.deltas) and use.deltas.dim() == 2
        if not alone or "log_magnitude" in sums.needs:
            super().add(sums, use, groups)
            return
        inputs = use.inputs.to(use.deltas.dtype)
        sign = sign_products(use.deltas, inputs) if "sign" in sums.needs else None
        # (delta a^T)^2 = delta^2 (a^2)^T, element by element.
        square = use.deltas.square().T @ inputs.square() if "square" in sums.needs else None
        sums.add_sums(groups.count, use.deltas.T @ inputs, sign, square=square)


def sign_products(deltas: Float[Tensor, "e o"], inputs: Float[Tensor, "e i"]) -> Shaped[Tensor, "o i"]:
    """Return sum_e sign(delta_e) sign(a_e)^T, integers.

    The factors are -1, 0 and 1 and the sums at most E: exact in any arithmetic that holds E. Bytes are several times faster
    than floats on a CPU.
    """
    if deltas.device.type != "cpu" or _BYTE_PRODUCT is None or len(deltas) > MOST_IN_BYTES:
        wide = torch.promote_types(deltas.dtype, torch.float32)
        return deltas.sign().to(wide).T @ inputs.sign().to(wide)
    delta_signs, input_signs = _bytes(deltas.sign().T), _bytes(inputs.sign())
    result = torch.empty(deltas.shape[1], inputs.shape[1], dtype=torch.int8)
    rows = chunk_length(inputs.shape[1], CHUNK_ELEMENTS)  # the product itself has four bytes an element
    for some, target in zip(delta_signs.split(rows), result.split(rows), strict=True):
        target.copy_(_BYTE_PRODUCT(some, input_signs))
    return result


def _bytes(signs: Float[Tensor, "r k"]) -> Int8[Tensor, "r k"]:
    # Into fresh memory, not contiguous(): a matrix of one row or column may be contiguous with strides that the byte product
    # misreads (torch 2.13: of a (1, 2) matrix with strides (1, 1) it returns garbage).
    return torch.empty(signs.shape, dtype=torch.int8).copy_(signs)


class LinearBias(PerExample):
    """The bias of `torch.nn.Linear`: the sum of delta over positions."""

    reads_inputs = False

    def per_example(self, use: Use) -> Float[Tensor, "b o"]:
        """Return delta summed over whatever lies between examples and features."""
        return use.deltas if use.deltas.dim() == 2 else use.deltas.flatten(1, -2).sum(1)
