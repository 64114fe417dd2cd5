"""From what a parameter's reads add to its sums: pieces of it, of which all environments' gradients are formed at a time.

A parameter's rows are cut into pieces where its formula can form some rows by themselves: products of matrices, lookups,
convolutions, and their sums. What cannot be cut is formed whole, all environments of one parameter at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.agreement.engine.layers import Use, joined
from mechlearn.agreement.engine.layers.convolution import Convolved
from mechlearn.agreement.engine.layers.embedding import LookedUp
from mechlearn.agreement.engine.layers.gradual import Gradual
from mechlearn.agreement.engine.layers.products import Products, StackedProducts
from mechlearn.agreement.engine.layers.terms import Span, Stacked, Sum, Term, spans
from mechlearn.agreement.statistics.sums import PieceSums, squares_of_rows

PIECE = 2**20
"""Components of environment gradients that are formed at a time, over all environments: 4 MiB of float32."""


def terms_of(uses: Sequence[Use], shape: torch.Size) -> list[Term]:
    """Return the terms of a parameter of a shape, no two of which have a component in common."""
    terms, places = joined(uses)
    terms = [_lent(term.products() if isinstance(term, Gradual) else term) for term in terms]
    taken = torch.zeros(shape, dtype=torch.bool)
    for place in places if len(places) > 1 else ():
        if bool(place.view(taken).any()):
            return [_Overlapping(terms, [one.view for one in places], shape)]
        place.view(taken).fill_(True)
    return terms


def _lent(term: Term) -> Term:
    """Return a term whose gradients can be formed more than once: what a sum adds to is a copy."""
    for one in term.terms if isinstance(term, Sum) else ():
        if isinstance(one, Stacked):
            one.lent = True
    return term


class _Overlapping(Term):
    """The sum of terms whose places in a parameter have components in common.

    Args:
        terms: of the same environments.
        views: from a tensor of the parameter's shape to the place of each.
        shape: the parameter's.
    """

    def __init__(self, terms: Sequence[Term], views: Sequence[Callable[[Tensor], Tensor]], shape: torch.Size) -> None:
        self.terms, self.views, self.shape = terms, views, shape
        self.environments, self.longest = terms[0].environments, min(term.longest for term in terms)

    def gradients(self, span: Span) -> Float[Tensor, "c *p"]:
        """Return their sum."""
        parts = [term.gradients(span) for term in self.terms]
        total = parts[0].new_zeros(span.length, *self.shape)
        for view, part in zip(self.views, parts, strict=True):
            for one, gradient in zip(total, part, strict=True):
                seen = view(one)
                seen += gradient.view(seen.shape)
        return total


class _Merged(Term):
    """Gradients of environments, each the sum of those of its adjacent clusters.

    Args:
        term: of the clusters.
        counts: how many clusters each environment has.
    """

    longest = 1

    def __init__(self, term: Term, counts: Sequence[int]) -> None:
        self.term, self.counts, self.environments = term, counts, len(counts)
        self.starts = [0, *accumulate(counts)]

    def gradients(self, span: Span) -> Float[Tensor, "1 *p"]:
        """Return one environment's gradient."""
        first, count = self.starts[span.first], self.counts[span.first]
        total = self.term.gradients(Span(first, 1))
        for some, length in spans(count - 1, min(self.term.longest, max(1, PIECE // max(1, total.numel())))):
            total = total + self.term.gradients(Span(first + 1 + some, length)).sum(0, keepdim=True)
        return total


def merged(term: Term, counts: Sequence[int], owners: Int[Tensor, " k"]) -> Term:
    """Return the term of environments from that of their clusters, which are adjacent.

    Args:
        term: of the clusters.
        counts: (E,) how many clusters each environment has.
        owners: (K,) the environment of each cluster.
    """

    def added(sizes: Sequence[int]) -> list[int]:
        ends = [0, *accumulate(sizes)]
        bounds = [0, *accumulate(counts)]
        return [ends[bounds[e + 1]] - ends[bounds[e]] for e in range(len(counts))]

    if isinstance(term, Products | StackedProducts):
        make = Products if isinstance(term, Products) else StackedProducts
        return make(term.left, term.right, added(term.sizes))
    if isinstance(term, Convolved):
        return Convolved(term.inputs, term.deltas, added(term.sizes), term.shape)
    if isinstance(term, LookedUp):
        return LookedUp(term.rows, term.deltas, owners.to(term.owners.device)[term.owners], len(counts), term.entries)
    if isinstance(term, Stacked):
        total = term.stack.new_zeros(len(counts), *term.stack.shape[1:])
        return Stacked(total.index_add_(0, owners.to(total.device), term.stack))
    if isinstance(term, Sum):
        return _lent(Sum([merged(one, counts, owners) for one in term.terms]))
    return _Merged(term, counts)


def add_pieces(term: Term, sums: PieceSums) -> None:
    """Add all environments' gradients of a term, a piece at a time."""
    if type(term) is Products and term.equal and term.sizes[0] == 1:
        sums.add_products(term.left, term.right)
        return
    for piece in pieces(_compact(term), sums.environments):
        sums.add(_formed(piece))


def _compact(term: Term) -> Term:
    """Return lookups in a table of those rows alone that are looked up: in all others every gradient is 0."""
    if not isinstance(term, LookedUp):
        return term
    found, rows = torch.unique(term.rows, return_inverse=True)
    return LookedUp(rows, term.deltas, term.owners, term.environments, len(found))


def _formed(term: Term) -> Float[Tensor, "e *p"]:
    parts = [term.gradients(span) for span in spans(term.environments, term.longest)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def pieces(term: Term, at_once: int) -> Iterator[Term]:
    """Yield terms of adjacent rows of a parameter, so that so many gradients of one have few enough components."""
    rows, each = _rows(term)
    height = max(1, PIECE // max(1, at_once * each))
    if rows <= height:
        yield term
        return
    for first in range(0, rows, height):
        yield _cut(term, slice(first, min(rows, first + height)))


def _rows(term: Term) -> tuple[int, int]:
    """Return how many rows of a term can be formed by themselves, and how many components each has; none where none can."""
    if isinstance(term, Products):
        return term.left.shape[1], term.right.shape[1]
    if isinstance(term, StackedProducts):
        return term.left.shape[1], term.left.shape[2] * term.right.shape[2]
    if isinstance(term, LookedUp):
        return term.entries, term.deltas.shape[-1]
    if isinstance(term, Convolved) and not term.shape.transposed and term.shape.groups == 1:
        return term.shape.weight[0], torch.Size(term.shape.weight[1:]).numel()
    if isinstance(term, Sum):
        found = {_rows(one) for one in term.terms}
        return found.pop() if len(found) == 1 else (0, 0)
    return 0, 0


def _cut(term: Term, some: slice) -> Term:
    """Return a term of some of the rows that `_rows` counts."""
    if isinstance(term, Products):
        return Products(term.left[:, some], term.right, term.sizes)
    if isinstance(term, StackedProducts):
        return StackedProducts(term.left[:, some], term.right[:, some], term.sizes)
    if isinstance(term, LookedUp):
        kept = (term.rows >= some.start) & (term.rows < some.stop)
        return LookedUp(
            term.rows[kept] - some.start, term.deltas[kept], term.owners[kept], term.environments, some.stop - some.start
        )
    if isinstance(term, Convolved):
        shape = term.shape._replace(weight=(some.stop - some.start, *term.shape.weight[1:]))
        return Convolved(term.inputs, term.deltas[:, some], term.sizes, shape)
    assert isinstance(term, Sum)  # `_rows` counts no others
    return Sum([_cut(one, some) for one in term.terms])


def squares_of(term: Term, numel: int) -> Float[Tensor, " k"]:
    """Return the square of the norm of each gradient of a term of so many components, in float64.

    Of a product of matrices with few rows it is the sum of products between these rows, which are smaller than the gradient.
    """
    if isinstance(term, LookedUp):
        return _of_lookups(term)
    if type(term) is Products and term.equal:
        size, (rows, columns) = term.sizes[0], _rows(term)
        if size == 1 or 2 * size * (rows + columns) < rows * columns:
            return _of_products(term)
    longest, total = max(1, PIECE // max(1, numel)), 0
    for piece in pieces(term, 1):
        parts = [piece.gradients(span) for span in spans(piece.environments, min(longest, piece.longest))]
        total = total + torch.cat([squares_of_rows(part) for part in parts])
    return torch.as_tensor(total)


def _of_products(term: Products) -> Float[Tensor, " k"]:
    """Return sum over rows r, s of (left_r . left_s) (right_r . right_s), in float64: its terms may cancel."""
    if term.sizes[0] == 1:
        return squares_of_rows(term.left) * squares_of_rows(term.right)
    found: list[Tensor] = []
    each = term.sizes[0] * (term.left.shape[1] + term.right.shape[1])
    for first, length in spans(term.environments, max(1, PIECE // max(1, each))):
        some = slice(first * term.sizes[0], (first + length) * term.sizes[0])
        left, right = (t[some].double().unflatten(0, (length, -1)) for t in (term.left, term.right))
        found.append((torch.bmm(left, left.mT) * torch.bmm(right, right.mT)).sum((1, 2)).clamp(min=0))
    return torch.cat(found)


def _of_lookups(term: LookedUp) -> Float[Tensor, " k"]:
    pairs, index = torch.unique(term.owners * term.entries + term.rows, return_inverse=True)
    gradients = term.deltas.new_zeros(
        len(pairs), term.deltas.shape[-1], dtype=torch.promote_types(term.deltas.dtype, torch.float32)
    )
    gradients.index_add_(0, index, term.deltas.to(gradients.dtype))
    total = torch.zeros(term.environments, dtype=torch.float64, device=gradients.device)
    return total.index_add_(0, pairs // term.entries, squares_of_rows(gradients))
