"""What is known of a value in a traced graph: how it depends on the rows of the batch.

A row is one example. Where a dimension holds rows, it has ``pre * B * post`` entries, and the entry of row b at outer index i
and inner index j is at ``(i * B + b) * post + j``: so rows survive a flattening with the positions before or behind them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch


class RefusedError(Exception):
    """A graph in which environments cannot be kept apart; the message says where they meet."""


Size = int | torch.SymInt
"""A number of entries; a symbol where it differs from call to call."""


class Row(NamedTuple):
    """Entry by entry along a dimension a function of that row alone, and of what depends on no row.

    Attributes:
        dim: the dimension that holds the rows.
        post: how many entries of the dimension are one row's and adjacent.
    """

    dim: int
    post: Size = 1


class Free(NamedTuple):
    """A function of no row: of parameters, constants, or tensors that the losses close over.

    Attributes:
        flat: dimensions along which it is constant; None for all.
        zero: it is 0 everywhere.
        noise: its entries were drawn one by one, so that they belong to whichever rows they meet.
        counts: the dimension along which it counts 0, 1, 2, ..., if it does nothing else.
    """

    flat: frozenset[int] | None = frozenset()
    zero: bool = False
    noise: bool = False
    counts: int | None = None

    def constant(self, dim: int) -> bool:
        """Tell whether it is constant along a dimension."""
        return self.flat is None or dim in self.flat


class Summed(NamedTuple):
    """A sum over rows of one term for each, or a linear function of such sums."""


class Mixed(NamedTuple):
    """Anything else: rows meet, or are not known to stay apart.

    Attributes:
        reason: where they meet.
    """

    reason: str


Tag = Row | Free | Summed | Mixed
Tags = Tag | tuple[Tag, ...]
"""A value's tag; of an operation with several values one for each."""

CONSTANT = Free(None)
ZERO = Free(None, zero=True)
FREE = Free()
SUMMED = Summed()


def known(condition: object) -> bool:
    """Tell whether a comparison of sizes is true for all values of their symbols, without a guard on them."""
    if isinstance(condition, bool):
        return condition
    from torch.fx.experimental.symbolic_shapes import statically_known_true  # noqa: PLC0415  # it loads a computer algebra

    return statically_known_true(condition)  # pyright: ignore[reportArgumentType]


def same(one: Size, other: Size) -> bool:
    """Tell whether two sizes are equal in every call."""
    return known(one == other)


def agree(rows: Sequence[Row]) -> Row | None:
    """Return what all of several tags say, None where they do not say the same."""
    first = rows[0]
    return first if all(row.dim == first.dim and same(row.post, first.post) for row in rows[1:]) else None


def divides(one: Size, other: Size) -> bool:
    """Tell whether a size is a multiple of another in every call."""
    rest: Any = other % one  # pyright: ignore[reportOperatorIssue]  # of a number and a symbol, in either order
    return known(rest == 0)


def plain(size: Size) -> Size:
    """Return a size as a number where it is one in every call."""
    found = getattr(getattr(size, "node", None), "expr", None)
    return int(found) if found is not None and found.is_number else size


def product(sizes: Sequence[Size]) -> Size:
    """Return the product of sizes."""
    found: Size = 1
    for size in sizes:
        found = found * size
    return found


def viewed(tag: Row, old: Sequence[Size], new: Sequence[Size], rows: Size) -> Row | None:
    """Return where the rows are after a reshape, None where they are spread over several dimensions.

    Args:
        tag: before.
        old: the shape before.
        new: the shape after, of as many entries.
        rows: B.
    """
    stride = tag.post * product(old[tag.dim + 1 :])  # from one row to the next, in entries: a reshape leaves that as it is
    inner: Size = 1
    for dim in reversed(range(len(new))):
        if divides(inner, stride):
            post = plain(stride // inner)
            if divides(post * rows, new[dim]):
                return Row(dim, post)
        inner = inner * new[dim]
    return None
