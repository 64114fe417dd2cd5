"""Where environments' gradients of one parameter go: sums of any statistics, or, faster, of float32 gradients and sign bytes.

A step of a small network is mostly what its operations cost to call: in `Lean` an environment costs a product and a call of a
kernel.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from mechlearn.agreement.compiled.packed import IN_BYTES, pack
from mechlearn.agreement.engine.layers.products import NARROW, TURNED, Products
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, Stacked, chunk_length
from mechlearn.agreement.engine.sums import LONG, RunningSums
from mechlearn.agreement.kernels.compiled import Compiled


class Sink(ABC):
    """Takes environments' gradients of one parameter, all of them once."""

    @abstractmethod
    def one(self, gradient: Tensor) -> None:
        """Add an environment's gradient, whose memory is left as it is."""

    @abstractmethod
    def stack(self, gradients: Tensor) -> None:
        """Add (E, *p) gradients, whose memory is left as it is."""

    @abstractmethod
    def products(self, left: Tensor, right: Tensor, starts: Sequence[int]) -> None:
        """Add each environment's left^T right.

        Args:
            left: (R, o), the rows of each environment adjacent.
            right: (R, i).
            starts: E + 1 offsets into the R rows.
        """

    @abstractmethod
    def packed(self) -> list[Tensor]:
        """Return the sum of gradients and the statistics, as they travel."""


class Wide(Sink):
    """Sums of any statistics, by the eager engine's formulas.

    Args:
        like: a tensor of the parameter's shape and type, on its device.
        needs: names of statistics, as they travel.
        compiled: the kernels of a CPU, if there are any.
    """

    def __init__(self, like: Tensor, needs: Sequence[str], compiled: Compiled | None) -> None:
        self._needs = needs
        self._sums = RunningSums(like, frozenset(name.partition(":")[0] for name in needs), compiled)

    def one(self, gradient: Tensor) -> None:
        """Add a copy of an environment's gradient."""
        self._sums.add(gradient.to(self._sums.dtype, copy=True, memory_format=torch.contiguous_format)[None])

    def stack(self, gradients: Tensor) -> None:
        """Add gradients, a chunk at a time."""
        Stacked(gradients.to(self._sums.dtype), lent=True).add(self._sums)

    def products(self, left: Tensor, right: Tensor, starts: Sequence[int]) -> None:
        """Add products: in tiles, by kernels, or of signs where each environment is one row."""
        sizes = [stop - start for start, stop in pairwise(starts)]
        Products(*((left, right) if max(sizes) > 1 else (left.contiguous(), right.contiguous())), sizes).add(self._sums)

    def packed(self) -> list[Tensor]:
        """Return the sums."""
        return pack(self._sums, self._needs)


class Lean(Sink):
    """Sums of float32 gradients on a CPU, and of their signs in bytes or floats, by the C kernels.

    Args:
        compiled: the kernels.
        shape: the parameter's.
        narrow: signs are summed in bytes.
    """

    def __init__(self, compiled: Compiled, shape: Sequence[int], narrow: bool) -> None:
        self._compiled, self._shape, self._narrow = compiled, tuple(shape), narrow
        self._gradient = torch.empty(self._shape)
        self._count = self._gradient.numel()
        self._signs = torch.empty(-(-self._count // 4) if narrow else self._shape)
        library = compiled.library
        self._add = library.mechlearn_add_signs_in_bytes if narrow else library.mechlearn_add_signs
        self._begun = False

    def _some(self, stack: Tensor, environments: int, first: int, count: int, fresh: bool) -> None:
        """Add contiguous gradients of some adjacent components, whose sums begin with them where they are fresh."""
        gradient, signs = self._gradient.data_ptr() + 4 * first, self._signs.data_ptr() + first * (1 if self._narrow else 4)
        self._add(stack.data_ptr(), environments, count, gradient, signs, fresh)

    def one(self, gradient: Tensor) -> None:
        """Add an environment's gradient."""
        self.stack(gradient[None])

    def stack(self, gradients: Tensor) -> None:
        """Add gradients in one call."""
        self._some(gradients.contiguous(), len(gradients), 0, self._count, not self._begun)
        self._begun = True

    def products(self, left: Tensor, right: Tensor, starts: Sequence[int]) -> None:
        """Add products: small ones many at a time, others in tiles that stay in cache."""
        outputs, columns = left.shape[1], right.shape[1]
        environments, size, alike = len(starts) - 1, starts[1], equal(starts)
        if alike and size == 1:
            self._of_rows(left.contiguous(), right.contiguous())
        elif columns < min(outputs, NARROW) and len(right) * self._count > TURNED:
            self._turned(left, right, starts)
        elif alike and self._count < LONG:
            left, right = (factor.unflatten(0, (environments, size)) for factor in (left, right))
            span = chunk_length(self._count, CHUNK_ELEMENTS)
            for first in range(0, environments, span):
                self.stack(torch.bmm(left[first : first + span].transpose(1, 2), right[first : first + span]))
        else:
            parts = [(left[start:stop].T, right[start:stop]) for start, stop in pairwise(starts)]
            self._tiles(parts, outputs, columns)

    def _of_rows(self, left: Tensor, right: Tensor) -> None:
        """Add products of single rows: their signs are a product of signs."""
        self._gradient = torch.mm(left.T, right)
        if self._narrow:
            self._as_bytes(self._signs).copy_(self._compiled.sign_products(left, right))
        else:
            self._signs = torch.mm(left.T.sign(), right.sign())

    def _as_bytes(self, signs: Tensor) -> Tensor:
        return signs.view(torch.int8)[: self._count].view(self._shape)

    def _turned(self, left: Tensor, right: Tensor, starts: Sequence[int]) -> None:
        """Form products transposed: their rows fill a processor's vectors better."""
        across = Lean(self._compiled, self._shape[::-1], self._narrow)
        across.products(right, left, starts)
        self._gradient = across._gradient.T.contiguous()
        if self._narrow:
            self._as_bytes(self._signs).copy_(across._as_bytes(across._signs).T)
        else:
            self._signs = across._signs.T.contiguous()

    def _tiles(self, parts: Sequence[tuple[Tensor, Tensor]], outputs: int, columns: int) -> None:
        tile = min(outputs, chunk_length(columns, CHUNK_ELEMENTS))
        scratch = self._gradient.new_empty(tile, columns)
        for first in range(0, outputs, tile):
            rows = min(tile, outputs - first)
            own = scratch[:rows]
            for place, (one, other) in enumerate(parts):
                torch.mm(one if rows == outputs else one[first : first + rows], other, out=own)
                self._some(own, 1, first * columns, rows * columns, not place)

    def packed(self) -> list[Tensor]:
        """Return both sums."""
        return [self._gradient, self._signs]


def equal(starts: Sequence[int]) -> bool:
    """Tell whether all environments have the same number of rows."""
    return list(starts) == list(range(0, starts[-1] + 1, starts[1])) if starts[1] else False


def lean(compiled: Compiled | None, needs: Sequence[str], operands: Sequence[Tensor]) -> bool:
    """Tell whether `Lean` serves: sums of gradients and signs, of float32 on a CPU."""
    alike = all(one.dtype == torch.float32 and one.device.type == "cpu" for one in operands if one.is_floating_point())
    return compiled is not None and needs in ([IN_BYTES], ["sign"]) and alike
