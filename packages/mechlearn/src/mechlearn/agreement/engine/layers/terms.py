"""What one read adds to the environments' gradients of a parameter, in a form that is cheap to hold until all reads are known.

One backward pass of the sum of the environments' mean losses brings a read its delta, already divided by n_e; what remains is
to form each environment's gradient, summed over the parameter's reads, take its sign, add both up, and let it go.

Index conventions: e an environment of E, c a chunk of environments, p the part of a parameter that a read sees.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.variance.sums import EvidenceSums

CHUNK_ELEMENTS = 2**18
"""Elements of environment gradients formed at a time: 1 MiB of float32, which stays in a core's second-level cache. Smaller
tiles of large weights would leave room for the sums too, but are slower products (measured on a CPU)."""


class Span(NamedTuple):
    """Adjacent environments."""

    first: int
    length: int


def chunk_length(numel: int, budget: int) -> int:
    """Return how many stacked gradients of ``numel`` elements fit a budget of elements, at least one."""
    return max(1, math.floor(budget / max(1, numel)))


def spans(environments: int, longest: int) -> Iterator[Span]:
    """Cut the environments into spans of at most ``longest``."""
    for first in range(0, environments, longest):
        yield Span(first, min(longest, environments - first))


class Term(ABC):
    """The environments' gradients at one read."""

    environments: int
    """E."""

    longest: int = 2**30
    """At most this many environments at a time."""

    sparse: bool = False
    """True where adding to a gradient that is there costs less than forming one."""

    @abstractmethod
    def gradients(self, span: Span) -> Float[Tensor, "c *p"]:
        """Return the gradients of a span's environments, in memory that may be overwritten."""

    def onto(self, total: Float[Tensor, "c *p"], span: Span) -> None:
        """Add the gradients of a span's environments to ``total``."""
        total += self.gradients(span)

    def onto_one(self, total: Float[Tensor, "*p"], span: Span) -> None:
        """Add what the gradients of a span's environments add up to to ``total``."""
        for part in spans(span.length, min(self.longest, chunk_length(total.numel(), CHUNK_ELEMENTS))):
            found = self.gradients(Span(span.first + part.first, part.length))
            total += (found[0] if part.length == 1 else found.sum(0)).view(total.shape)

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient, a chunk at a time."""
        longest = min(self.longest, chunk_length(sums.shape.numel(), CHUNK_ELEMENTS))
        for span in spans(self.environments, longest):
            sums.add(self.gradients(span).to(sums.dtype))

    def add_whole(self, sums: RunningSums) -> None:
        """Add every environment's gradient to what knows only whole ones; most short cuts are not taken."""
        Term.add(self, sums)

    def joined(self, others: Sequence["Term"]) -> "Term":
        """Return the sum of this and other terms of one shape."""
        return Sum([self, *others]) if others else self


class Stacked(Term):
    """Gradients side by side, where they are no larger than the delta they come from: biases, scales, raw parameters.

    Args:
        stack: (E, *p).
        lent: its memory is somebody else's, so that what is to be overwritten is a copy.
    """

    def __init__(self, stack: Float[Tensor, "e *p"], *, lent: bool = False) -> None:
        self.stack, self.lent = stack, lent
        self.environments = len(stack)

    def gradients(self, span: Span) -> Float[Tensor, "c *p"]:
        """Return a part of the stack."""
        some = self.stack[span.first : span.first + span.length]
        return some.clone() if self.lent else some

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient; what only reads them reads them where they are."""
        if isinstance(sums, EvidenceSums):
            sums.add(self.stack)
        else:
            super().add(sums)

    def joined(self, others: Sequence[Term]) -> Term:
        """Add other stacks to this one, in their order."""
        for other in others:
            if isinstance(other, Stacked):
                self.stack, self.lent = self.stack + other.stack, False
            elif isinstance(other, Owned):
                self.stack, self.lent = other.onto_stack(self.stack), False
        return super().joined([other for other in others if not isinstance(other, Stacked | Owned)])


class Owned(Term):
    """Gradients of a few environments, all others' being 0: what a read adds that only their losses reach.

    Where each environment has a forward pass of its own there are E such reads: as stacks they would hold E^2 gradients.

    Args:
        environments: E.
        rows: gradients by their environment's position.
        like: any tensor of their shape, type and device.
    """

    def __init__(self, environments: int, rows: dict[int, Float[Tensor, "*p"]], like: Float[Tensor, "*p"]) -> None:
        self.environments, self.rows, self.like = environments, rows, like

    def gradients(self, span: Span) -> Float[Tensor, "c *p"]:
        """Put the gradients of a span's environments side by side."""
        stack = self.like.new_zeros(span.length, *self.like.shape)
        for place in range(span.length):
            row = self.rows.get(span.first + place)
            if row is not None:
                stack[place] = row
        return stack

    def onto_stack(self, stack: Float[Tensor, "e *p"]) -> Float[Tensor, "e *p"]:
        """Return a copy of a stack to which these gradients are added."""
        stack = stack.to(torch.promote_types(stack.dtype, self.like.dtype), copy=True)
        for e, row in self.rows.items():
            stack[e] += row
        return stack

    def add(self, sums: RunningSums) -> None:
        """Add every environment's gradient; standard errors are made of all at a time, as of a stack."""
        if isinstance(sums, EvidenceSums):
            sums.add(self.gradients(Span(0, self.environments)))
        else:
            super().add(sums)

    def joined(self, others: Sequence[Term]) -> Term:
        """Add others' gradients to these, environment by environment and in their order."""
        if any(isinstance(other, Stacked) for other in others):
            return Stacked(self.gradients(Span(0, self.environments))).joined(others)
        rows = dict(self.rows)
        for other in others:
            if isinstance(other, Owned):
                for e, row in other.rows.items():
                    rows[e] = rows[e] + row if e in rows else row
        rest = [other for other in others if not isinstance(other, Owned)]
        found = Owned(self.environments, rows, self.like)
        return Sum([found, *rest]) if rest else found


def compact(term: Term, sizes: Sequence[int]) -> Term:
    """Return a term that holds no more than it must: of a stack only the gradients of environments that reach its read.

    Args:
        term: of a read.
        sizes: how many slices of the read's gradient each environment has.
    """
    present = [e for e, size in enumerate(sizes) if size]
    if type(term) is not Stacked or 2 * len(present) > len(sizes):
        return term
    return Owned(len(sizes), {e: term.stack[e].clone() for e in present}, term.stack.new_empty(()).expand(term.stack.shape[1:]))


class Each(Term):
    """Gradients formed one by one by a function.

    Args:
        environments: E.
        form: from an environment's position to its gradient, in memory that may be overwritten.
    """

    def __init__(self, environments: int, form: Callable[[int], Float[Tensor, "*p"]]) -> None:
        self.environments, self.form = environments, form

    def gradients(self, span: Span) -> Float[Tensor, "c *p"]:
        """Form them."""
        formed = [self.form(e) for e in range(span.first, span.first + span.length)]
        return formed[0][None] if len(formed) == 1 else torch.stack(formed)


class Sum(Term):
    """The sum of several terms, of which no two can be added before their gradients are formed.

    Args:
        terms: of one shape, at least one.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = sorted(terms, key=lambda term: term.sparse)
        self.environments = terms[0].environments
        self.longest = min(term.longest for term in terms)

    def gradients(self, span: Span) -> Float[Tensor, "c *p"]:
        """Return their sum."""
        first, *rest = self.terms
        total = first.gradients(span)
        for term in rest:
            term.onto(total, span)
        return total
