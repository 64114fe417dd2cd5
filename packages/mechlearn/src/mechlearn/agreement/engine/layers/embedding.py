"""Parameters whose rows are looked up: e's gradient of a row is the sum of delta over the positions that looked it up."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import WHOLE, Read
from mechlearn.agreement.engine.analysis.saved import output_shape, saved, signed, slot_shape
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.terms import Span, Term
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.variance.sums import EvidenceSums


class LookedUp(Term):
    """Rows of a table (v, k). A row that an environment does not look up has gradient 0 there.

    Args:
        rows: (n,) the row that each delta adds to.
        deltas: (n, k).
        owners: (n,) the environment of each, ascending.
        environments: E.
        entries: v.
    """

    sparse = True

    def __init__(self, rows: Tensor, deltas: Tensor, owners: Int[Tensor, " n"], environments: int, entries: int) -> None:
        self.rows, self.deltas, self.owners, self.entries = rows, deltas, owners, entries
        self.environments = environments

    def gradients(self, span: Span) -> Float[Tensor, "c v k"]:
        """Return the span's gradients, dense: for a table tied to another read."""
        total = self.deltas.new_zeros(span.length, self.entries, self.deltas.shape[-1])
        self.onto(total, span)
        return total

    def onto(self, total: Float[Tensor, "c v k"], span: Span) -> None:
        """Touch only the rows that the span's environments look up."""
        ends = torch.tensor([span.first, span.first + span.length], device=self.owners.device)
        some = slice(*torch.searchsorted(self.owners, ends).tolist())
        index = (self.owners[some] - span.first) * self.entries + self.rows[some]
        total.flatten(0, 1).index_add_(0, index, self.deltas[some].to(total.dtype))

    def joined(self, others: Sequence[Term]) -> Term:
        """Put other lookups beside these."""
        alike = [self, *(other for other in others if isinstance(other, LookedUp))]
        rest = [other for other in others if not isinstance(other, LookedUp)]
        if len(alike) == 1:
            return super().joined(rest)
        owners, order = torch.sort(torch.cat([term.owners for term in alike]), stable=True)
        rows, deltas = (torch.cat([getattr(term, name) for term in alike])[order] for name in ("rows", "deltas"))
        return LookedUp(rows, deltas, owners, self.environments, self.entries).joined(rest)

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient, touching only the rows that it looks up."""
        entries = self.entries
        pairs, index = torch.unique(self.owners * entries + self.rows, return_inverse=True)
        gradients = self.deltas.new_zeros(len(pairs), self.deltas.shape[-1]).to(sums.dtype)
        gradients.index_add_(0, index, self.deltas.to(gradients.dtype))
        looked_up = pairs % entries
        if isinstance(sums, EvidenceSums):
            sums.add_rows(gradients, pairs // entries, looked_up)
            return
        total = gradients.new_zeros(sums.shape).index_add_(0, looked_up, gradients)
        log_magnitude = None
        if "log_magnitude" in sums.needs:
            missing = self.environments - torch.bincount(looked_up, minlength=entries)
            log_magnitude = gradients.new_zeros(sums.shape).index_add_(0, looked_up, gradients.abs().log_())
            log_magnitude[missing > 0] = -torch.inf
        square = None
        if "square" in sums.needs:
            squares = gradients.double().square()
            square = squares.new_zeros(sums.shape).index_add_(0, looked_up, squares)
        magnitude = None
        if "magnitude" in sums.needs:
            magnitude = gradients.new_zeros(sums.shape).index_add_(0, looked_up, gradients.abs())
        sign = None
        if "sign" in sums.needs:
            signs = gradients.sign_().to(sums.sign_dtype)
            sign = signs.new_zeros(sums.shape).index_add_(0, looked_up, signs)
        sums.add_sums(self.environments, total, sign, log_magnitude, square, magnitude)


def take(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of an embedding."""
    del slots
    padding, entries = signed(saved(node, "padding_idx")), int(saved(node, "weight_sym_argsize_0"))
    rows: Tensor = saved(node, "indices").long()
    if saved(node, "scale_grad_by_freq"):
        # The whole batch's frequencies: what backpropagation of one environment's loss through this graph divides by.
        delta = delta / torch.bincount(rows.flatten(), minlength=entries)[rows][..., None]
    return [_looked_up(rows, delta, layout, entries, padding)]


def bag(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of an embedding bag: sums, means or weighted sums of rows."""
    del slots
    rows: Tensor = saved(node, "indices").long()
    mean, weights = saved(node, "mode") == 1, saved(node, "per_sample_weights")
    padding, entries = signed(saved(node, "padding_idx")), int(saved(node, "weight_sym_argsize_0"))
    ends = saved(node, "offsets").to(rows.device)[: len(delta)]
    owner = torch.searchsorted(ends, torch.arange(len(rows), device=rows.device), right=True) - 1
    deltas = delta[owner]
    if mean:
        counted = torch.ones_like(rows) if padding < 0 else (rows != padding).long()
        sizes = torch.zeros(len(delta), dtype=torch.int64, device=rows.device).index_add_(0, owner, counted)
        deltas = deltas / sizes.clamp(min=1)[owner][:, None]
    if weights is not None:
        deltas = deltas * weights[:, None]
    index = environments_of(layout, len(delta)).to(rows.device)[owner]
    return [_sorted(rows, deltas, index, layout.count, entries, padding)]


def indexed(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of a parameter whose rows a tensor of indices picks."""
    del slots
    shape = slot_shape(node, 0)
    if node.name().startswith("IndexSelect"):
        rows, positions = saved(node, "index"), 1
    else:
        (rows,) = saved(node, "indices")
        positions = rows.dim()
    rows = torch.where(rows < 0, rows + shape[0], rows)
    term = _looked_up(rows, delta.flatten(positions) if shape[1:] else delta[..., None], layout, shape[0], -1)
    return [term if len(shape) == 2 else Reshaped(term, shape)]


class Reshaped(Term):
    """A term whose gradients are seen in another shape.

    Args:
        term: any.
        shape: of a gradient.
    """

    def __init__(self, term: Term, shape: Sequence[int]) -> None:
        self.term, self.shape = term, shape
        self.environments, self.longest = term.environments, term.longest

    def gradients(self, span: Span) -> Tensor:
        """Return them in their shape."""
        return self.term.gradients(span).reshape(span.length, *self.shape)


def why_not(read: Read) -> str | None:
    """Say why a lookup has no formula."""
    return _along(read, len(saved(read.node, "indices").shape))


def why_no_bag(read: Read) -> str | None:
    """Say why an embedding bag has no formula."""
    if saved(read.node, "mode") == 2:
        return "is an embedding bag that takes maxima"
    if saved(read.node, "scale_grad_by_freq"):
        return "is an embedding bag whose gradient is scaled by frequency"
    return _along(read, 1)


def why_no_index(read: Read) -> str | None:
    """Say why an index has no formula: it is not one tensor of integers for the first dimension."""
    node = read.node
    if node.name().startswith("IndexSelect"):
        return (
            _along(read, 1)
            if signed(saved(node, "dim")) in (0, -len(slot_shape(node, 0)))
            else "is not indexed along dimension 0"
        )
    indices = tuple(index for index in saved(node, "indices"))
    if len(indices) != 1 or indices[0] is None or indices[0].dtype in (torch.bool, torch.uint8):  # bytes are a mask
        return "is indexed by something else than one tensor of integers for dimension 0"
    return _along(read, indices[0].dim())


def _along(read: Read, positions: int) -> str | None:
    good = read.rows.dim == WHOLE or read.rows.dim < positions
    return (
        None
        if good
        else f"has components of its own for each example (along dimension {read.rows.dim} of {tuple(output_shape(read.node))})"
    )


def environments_of(layout: Layout, size: int) -> Int[Tensor, " r"]:
    """Return the environment of each slice, -1 for none."""
    rows = layout.rows
    if rows.dim == WHOLE and rows.owners is not None:
        return rows.owners.expand(size)
    if rows.owners is not None:
        return rows.owners
    return layout.groups.index.repeat_interleave(rows.inner).repeat(rows.outer)


def _looked_up(rows: Tensor, deltas: Tensor, layout: Layout, entries: int, padding: int) -> LookedUp:
    """Return lookups from their positions: rows (*positions), deltas (*positions, k)."""
    rows, dim = layout.along(rows)
    deltas = layout.along(deltas)[0].reshape(*rows.shape, -1)
    each = rows.numel() // max(1, rows.shape[dim])
    index = environments_of(layout, rows.shape[dim]).to(rows.device).repeat_interleave(each)
    flat = rows.movedim(dim, 0).flatten()
    return _sorted(flat, deltas.movedim(dim, 0).flatten(0, -2), index, layout.count, entries, padding)


def _sorted(rows: Tensor, deltas: Tensor, index: Tensor, count: int, entries: int, padding: int) -> LookedUp:
    """Return lookups with their environments ascending, without those of the padding row, which receives no gradient."""
    kept = index >= 0
    if padding >= 0:
        kept = kept & (rows != padding)
    if not bool(kept.all()):
        rows, deltas, index = rows[kept], deltas[kept], index[kept]
    if not bool((index.diff() >= 0).all()):
        index, order = torch.sort(index, stable=True)
        rows, deltas = rows[order], deltas[order]
    return LookedUp(rows, deltas, index, count, entries)
