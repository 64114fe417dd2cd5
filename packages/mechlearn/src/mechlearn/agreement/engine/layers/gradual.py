"""Products of matrices that are put environment by environment only when an environment's turn has come.

A recurrent layer reads its weight at every step, and its inputs lie step by step. Put together at once, all of that would be in
memory twice.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.layers import gpu
from mechlearn.agreement.engine.layers.products import Products
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, Span, Term
from mechlearn.agreement.engine.sums import LONG, RunningSums, SideBySide
from mechlearn.agreement.engine.variance.sums import EvidenceSums

MANY = 8
"""A parameter with at least so many reads is a recurrent layer's, most likely: its steps are not put together at once."""


class Gradual(Term):
    """Products of which those of some environments can be put together by themselves."""

    @abstractmethod
    def of(self, span: Span) -> Products:
        """Return the products of a span's environments."""

    def products(self) -> Products:
        """Return the products of all environments."""
        return self.of(Span(0, self.environments))

    def gradients(self, span: Span) -> Float[Tensor, "c o i"]:
        """Return left^T right for each environment of the span."""
        return self.of(span).gradients(Span(0, span.length))

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient, one after another where that is how products of this size are formed."""
        elsewhere = sums.device.type != "cpu"  # what a cache saves is less there than so many operations cost
        if elsewhere or isinstance(sums, EvidenceSums | SideBySide) or not LONG <= sums.shape.numel() <= CHUNK_ELEMENTS:
            self.products().add(sums)
            return
        gradient: Tensor | None = None
        for e in range(self.environments):
            one = self.of(Span(e, 1))
            gradient = one.right.new_empty(sums.shape) if gradient is None else gradient
            sums.add(torch.mm(one.left.T, one.right, out=gradient)[None].to(sums.dtype))


class Pieces(Gradual):
    """The sum of products of many reads, each step's rows under those of the step before it.

    Args:
        terms: of one shape; in each all environments have equally many rows.
    """

    def __init__(self, terms: Sequence[Products]) -> None:
        self.terms, self.environments = terms, terms[0].environments

    def of(self, span: Span) -> Products:
        """Return the products of a span's environments."""
        left, right = list[Tensor](), list[Tensor]()
        for term in self.terms:
            size = term.sizes[0]
            some = slice(span.first * size, (span.first + span.length) * size)
            left.append(term.left[some].unflatten(0, (span.length, size)))
            right.append(term.right[some].unflatten(0, (span.length, size)))
        rows = sum(term.sizes[0] for term in self.terms)
        return Products(torch.cat(left, 1).flatten(0, 1), torch.cat(right, 1).flatten(0, 1), (rows,) * span.length)


class Spread(Gradual):
    """Products of factors whose rows lie step by step, each step's in the order of the batch.

    Args:
        left: (T, B, *positions, o), on one side of the parameter; environments are adjacent along B and equally large.
        right: (T, B, *positions, i), on the other.
        environments: E.
    """

    def __init__(self, left: Float[Tensor, "t b *n o"], right: Float[Tensor, "t b *n i"], environments: int) -> None:
        self.left, self.right, self.environments = left, right, environments

    def swapped(self) -> "Spread":
        """Return the transposed products."""
        return Spread(self.right, self.left, self.environments)

    def of(self, span: Span) -> Products:
        """Return the products of a span's environments."""
        size = self.left.shape[1] // self.environments
        some = slice(span.first * size, (span.first + span.length) * size)
        left, right = (t[:, some].transpose(0, 1).flatten(0, -2) for t in (self.left, self.right))
        return Products(left, right, (len(left) // span.length,) * span.length)

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient; the Triton kernel reads the factors where they lie."""
        small = isinstance(sums, EvidenceSums | SideBySide)
        if not small and gpu.steps_usable(sums, self.left, self.right):
            gpu.add_steps(sums, self.left, self.right, self.environments)
        else:
            super().add(sums)


def together(terms: Sequence[Term]) -> Term:
    """Return the sum of terms of one shape: gradually where they are many products."""
    some = [term for term in terms if type(term) is Products and term.equal]
    if len(some) < MANY:
        return terms[0].joined(terms[1:])
    rest = [term for term in terms if not (type(term) is Products and term.equal)]
    return Pieces(some).joined(rest)
