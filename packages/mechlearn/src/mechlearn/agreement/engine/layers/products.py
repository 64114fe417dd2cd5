"""Gradients that are matrix products: environment e's is the sum over its rows r of left_r right_r^T.

Weights of linear layers on vectors or any number of positions, of every other product of matrices, of recurrent and bilinear
layers.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int8, Shaped
from torch import Tensor

from mechlearn.agreement.engine.layers import gpu
from mechlearn.agreement.engine.layers.layout import Layout, slices_of, starts_of
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, Span, Term, chunk_length, spans
from mechlearn.agreement.engine.sums import LONG, MOST_IN_BYTES, RunningSums, SideBySide
from mechlearn.agreement.engine.sums.units import Lengths, UnitSums, divided
from mechlearn.agreement.engine.variance.sums import EvidenceSums
from mechlearn.agreement.kernels.compiled import Compiled
from mechlearn.agreement.normalised import lengths

# Not a public name of torch: where a release lacks it, or its signature, floats do the same.
_BYTE_PRODUCT: Callable[..., Tensor] | None = getattr(torch, "_int_mm", None)


BYTE_TILE_ELEMENTS = 2**17
"""A byte product has four bytes an element: this many at a time, so that they add 512 KiB to the memory of a step."""

NARROW = 64
"""With fewer columns than this, and than rows, a weight's gradient is formed transposed: its rows fill vectors better."""

FEW = 64
"""With fewer rows an environment, products wait for one another: one of all rows is faster (measured on a CPU)."""

TURNED = 2**20
"""Below as many multiplications, turning what comes of them costs more than that saves (measured on a CPU)."""


class Products(Term):
    """Products of two factors whose rows are put environment by environment.

    Args:
        left: (R, o), on one side of the parameter.
        right: (R, i), on the other.
        sizes: how many of the R rows each environment has.
    """

    def __init__(self, left: Float[Tensor, "r o"], right: Float[Tensor, "r i"], sizes: Sequence[int]) -> None:
        self.left, self.right = left, right if right.dtype == left.dtype else right.to(left.dtype)
        self.sizes = tuple(sizes)
        self.environments = len(self.sizes)
        self.equal = min(self.sizes) == max(self.sizes)
        if not self.equal:
            self.longest = 1
            self.starts = starts_of(self.sizes)

    def shrinks(self) -> bool:
        """Tell whether all environments' products take less memory than their factors, and can be added to at no loss."""
        (rows, outputs), columns = self.left.shape, self.right.shape[1]
        wide = self.left.dtype in (torch.float32, torch.float64) and self.left.device.type == "cpu"
        smaller = self.environments * outputs * columns < rows * (outputs + columns)
        return wide and smaller and self.equal and self.sizes[0] >= FEW

    def swapped(self) -> "Products":
        """Return the transposed products."""
        return Products(self.right, self.left, self.sizes)

    def gradients(self, span: Span) -> Float[Tensor, "c o i"]:
        """Return left^T right for each environment of the span."""
        if not self.equal:
            some = slice(self.starts[span.first], self.starts[span.first + 1])
            return torch.mm(self.left[some].T, self.right[some])[None]
        left, right = self._of_equal(span)
        return torch.bmm(left.transpose(1, 2), right)

    def _of_equal(self, span: Span) -> tuple[Float[Tensor, "c n o"], Float[Tensor, "c n i"]]:
        size, left, right = self.sizes[0], self.left, self.right
        if span.length < self.environments:
            some = slice(span.first * size, (span.first + span.length) * size)
            left, right = left[some], right[some]
        return left.view(span.length, size, left.shape[1]), right.view(span.length, size, right.shape[1])

    def onto(self, total: Float[Tensor, "c o i"], span: Span) -> None:
        """Add left^T right for each environment of the span to ``total``."""
        if self.equal and total.dtype == self.left.dtype:
            left, right = self._of_equal(span)
            total.baddbmm_(left.transpose(1, 2), right)
        else:
            super().onto(total, span)

    def onto_one(self, total: Float[Tensor, "*p"], span: Span) -> None:
        """Add the product of all rows of a span's environments to ``total``."""
        if total.shape == (self.left.shape[1], self.right.shape[1]) and total.dtype == self.left.dtype:
            rows = slice(sum(self.sizes[: span.first]), sum(self.sizes[: span.first + span.length]))
            total.addmm_(self.left[rows].T, self.right[rows])
        else:
            super().onto_one(total, span)

    def joined(self, others: Sequence[Term]) -> Term:
        """Put the rows of other products under these, environment by environment: one product of more rows."""
        alike = [self, *(other for other in others if isinstance(other, Products))]
        rest = [other for other in others if not isinstance(other, Products)]
        if len(alike) == 1:
            return super().joined(rest)
        left = _interleaved([term.left for term in alike], alike)
        for term in alike:
            term.left = left[:0]  # what came in is needed no more: many steps' worth of it
        right = _interleaved([term.right for term in alike], alike)
        sizes = [sum(sizes) for sizes in zip(*(term.sizes for term in alike), strict=True)]
        return Products(left, right, sizes).joined(rest)

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient; one row an environment needs no gradient of its own.

        There sign(left right^T) = sign(left) sign(right)^T, so the sum of signs is one more matrix product.
        """
        alone = max(self.sizes) == 1 and self.equal
        if isinstance(sums, EvidenceSums):
            self._add_evidence(sums, alone)
            return
        if isinstance(sums, SideBySide) and not alone:
            self._add_beside(sums)
            return
        if not alone and gpu.usable(sums, self.left):
            gpu.add_products(sums, self.left, self.right, self.sizes)
            return
        if not alone or "log_magnitude" in sums.needs:
            _add_products(sums, self)
            return
        sign = sign_products(self.left, self.right, sums.compiled) if "sign" in sums.needs else None
        # (left right^T)^2 = left^2 (right^2)^T, element by element, and so for magnitudes.
        square = self.left.double().square().T @ self.right.double().square() if "square" in sums.needs else None
        magnitude = self.left.abs().T @ self.right.abs() if "magnitude" in sums.needs else None
        sums.add_sums(self.environments, self.left.T @ self.right, sign, square=square, magnitude=magnitude)

    def add_whole(self, sums: RunningSums) -> None:
        """Add every environment's gradient; the norm of one row's product needs no gradient either."""
        alone = self.equal and self.sizes[0] == 1
        if alone and isinstance(sums, UnitSums) and "log_magnitude" not in sums.needs:
            left, right = (divided(t, lengths(t)).to(sums.dtype) for t in (self.left, self.right))
            Products(left, right, self.sizes).add(sums)
        elif alone and isinstance(sums, Lengths):
            sign = sign_products(self.left, self.right, sums.compiled) if sums.needs else None
            sums.add_products(self.left, self.right, sign)
        elif isinstance(sums, Lengths) and sums.shape.numel() >= LONG:
            gradient = self.right.new_empty(sums.shape)  # one after another in the same memory, which a cache holds
            for some in slices_of(self.sizes):
                sums.add(torch.mm(self.left[some].T, self.right[some], out=gradient)[None])
        else:
            super().add_whole(sums)

    def _add_beside(self, sums: SideBySide) -> None:
        """Leave small gradients as they are."""
        whole = Span(0, self.environments)
        if not self.equal:
            super().add(sums)
        elif _turns(sums, len(self.right)):
            sums.add(self.swapped().gradients(whole).mT)
        else:
            sums.add(self.gradients(whole))

    def _add_evidence(self, sums: EvidenceSums, alone: bool) -> None:
        """Add the gradients of parts of environments: squares of single rows' are products, too."""
        if alone:
            sums.add_products(self.left, self.right, turned=_turns(sums, len(self.right)))
        elif self.equal and sums.shape.numel() < LONG:
            super().add(sums)
        else:
            left, right = ([t[some] for some in slices_of(self.sizes)] for t in (self.left, self.right))
            sums.add_tiles([t.T for t in left], right)


class StackedProducts(Term):
    """Products of two factors for each of S parameters that are stacked on a leading dimension.

    Args:
        left: (R, S, o), the rows put environment by environment.
        right: (R, S, i).
        sizes: how many of the R rows each environment has.
    """

    def __init__(self, left: Float[Tensor, "r s o"], right: Float[Tensor, "r s i"], sizes: Sequence[int]) -> None:
        self.left, self.right, self.sizes = left, right.to(left.dtype), sizes
        self.environments = len(sizes)
        self.starts = starts_of(sizes)
        self.equal = min(sizes) == max(sizes)
        self.longest = 2**30 if self.equal else 1

    def swapped(self) -> "StackedProducts":
        """Return the transposed products."""
        return StackedProducts(self.right, self.left, self.sizes)

    def gradients(self, span: Span) -> Float[Tensor, "c s o i"]:
        """Return left^T right of each parameter in the stack, for each environment of the span."""
        some = slice(self.starts[span.first], self.starts[span.first + span.length])
        left, right = (t[some].unflatten(0, (span.length, -1)).transpose(1, 2).flatten(0, 1) for t in (self.left, self.right))
        return torch.bmm(left.transpose(1, 2), right).unflatten(0, (span.length, -1))


def products(left: Tensor, right: Tensor, layout: Layout, dim: int) -> Products:
    """Return the products of two factors with their features last, summed over everything else, by environment.

    Args:
        left: (*positions, o), of which dimension ``dim`` tells examples apart.
        right: (*positions, i).
        layout: whose the slices along ``dim`` are.
        dim: the dimension.
    """
    if dim == 0 and left.dim() == right.dim() == 2:
        return Products(layout.grouped(left), layout.grouped(right), layout.sizes)
    left, right = (layout.grouped(t, dim) for t in (left, right))
    each = left.shape[1:-1].numel()
    sizes = layout.sizes if each == 1 else tuple(size * each for size in layout.sizes)
    left, right = (t if t.dim() == 2 else t.flatten(0, -2) for t in (left, right))
    return Products(left, right, sizes)


def add_tiles(sums: RunningSums, left: Sequence[Float[Tensor, "o _"]], right: Sequence[Float[Tensor, "_ k"]]) -> None:
    """Add environment gradients that are matrix products, one environment after another, some rows o at a time.

    A tile is formed, signed and added to both sums while it is in cache; an environment's gradient as a whole never exists.
    """
    if isinstance(sums, EvidenceSums):
        sums.add_tiles(left, right)
        return
    columns = right[0].shape[1]
    # Elsewhere than on a CPU many small products cost more than a cache saves.
    rows = min(sums.shape[0], chunk_length(columns, CHUNK_ELEMENTS)) if right[0].device.type == "cpu" else sums.shape[0]
    scratch = right[0].new_empty(rows, columns)
    for some, part in sums.in_parts(len(left), rows):
        tile = scratch[: part.shape[0]]
        stack = tile.view(1, *part.shape)
        of_each = left if rows == sums.shape[0] else [t[some] for t in left]
        for rows_of_e, columns_of_e in zip(of_each, right, strict=True):
            torch.mm(rows_of_e, columns_of_e, out=tile)
            part.add(stack)


def _add_products(sums: RunningSums, term: Products) -> None:
    """Add every environment's product: a large one by itself, tile by tile, small ones of equal sizes many at a time."""
    outputs, columns = sums.shape
    if _turns(sums, len(term.right)):
        across = RunningSums(term.right.new_empty(columns, outputs, dtype=sums.dtype), sums.needs, sums.compiled)
        _add_products(across, term.swapped())
        count, gradient, *_ = across.statistics()
        turned = {name: tensor.T.contiguous() for name, tensor in across.held.items()}
        sums.add_sums(count, gradient.T.contiguous(), **turned)
    elif term.equal and sums.shape.numel() < (LONG if term.right.device.type == "cpu" else CHUNK_ELEMENTS):
        for span in spans(term.environments, chunk_length(sums.shape.numel(), CHUNK_ELEMENTS)):
            sums.add(term.gradients(span).to(sums.dtype))
    else:
        left, right = ([t[some] for some in slices_of(term.sizes)] for t in (term.left, term.right))
        add_tiles(sums, [t.T for t in left], right)


def _turns(sums: RunningSums, rows: int) -> bool:
    """Tell whether a weight's gradients are to be formed transposed."""
    outputs, columns = sums.shape
    return columns < min(outputs, NARROW) and rows * sums.shape.numel() > TURNED


def _interleaved(factors: Sequence[Tensor], terms: Sequence[Products]) -> Tensor:
    """Put the rows of several factors together, environment by environment."""
    if all(term.equal for term in terms):
        parts = [t.unflatten(0, (term.environments, -1)) for t, term in zip(factors, terms, strict=True)]
        return torch.cat(parts, 1).flatten(0, 1)
    cut = [t.split(term.sizes) for t, term in zip(factors, terms, strict=True)]
    return torch.cat([part for parts in zip(*cut, strict=True) for part in parts])


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
    rows, columns = deltas.shape[1], inputs.shape[1]
    if not rows * columns:
        return torch.zeros(rows, columns, dtype=torch.int8)
    delta_signs, input_signs = _bytes(deltas.T), _bytes(inputs)
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
