"""How the slices of a gradient are put environment by environment.

Index conventions: b an example of B, e an environment of E, r a slice along the dimension that tells examples apart.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

from mechlearn.agreement.engine.analysis.rows import WHOLE, Rows
from mechlearn.environments import Environments


class Layout:
    """The slices of one gradient, and of what was saved beside it, by environment.

    Args:
        rows: whose the slices are.
        groups: the partition of the batch.

    Attributes:
        sizes: how many slices each environment has, 0 for one that does not reach the gradient.
        equal: whether all have the same number.
    """

    def __init__(self, rows: Rows, groups: Environments) -> None:
        self.rows, self.groups = rows, groups
        if rows.owners is None:
            repeated = rows.outer * rows.inner
            self.sizes = groups.sizes if repeated == 1 else tuple(size * repeated for size in groups.sizes)
            self.equal = groups.equal
        else:
            owned = rows.owners[rows.owners >= 0]
            self.sizes = tuple(torch.bincount(owned, minlength=groups.count).tolist())
            self.equal = min(self.sizes) == max(self.sizes)

    @property
    def adjacent(self) -> bool:
        """Whether the slices are the rows of dimension 0, each environment's adjacent and all of one number."""
        rows, groups = self.rows, self.groups
        return rows.dim == 0 and rows.owners is None and rows.outer == 1 and groups.order is None and groups.equal

    @property
    def count(self) -> int:
        """E, the number of environments."""
        return self.groups.count

    @cached_property
    def order(self) -> Int[Tensor, " r"] | None:
        """The slices of explicit owners, by environment and each environment's in order; None where none need be moved."""
        owners = self.rows.owners
        if owners is None or bool((owners.diff() >= 0).all() and (owners >= 0).all()):
            return None
        order = torch.argsort(owners, stable=True)
        return order[len(owners) - sum(self.sizes) :]

    def along(self, tensor: Tensor) -> tuple[Tensor, int]:
        """Return a tensor and the dimension of its slices, a new one of size 1 where all of it is one environment's."""
        return (tensor[None], 0) if self.rows.dim == WHOLE else (tensor, self.rows.dim)

    def by_first(self, size: int) -> "Layout":
        """Return a layout along dimension 0, of a size, where all of a gradient is one environment's; else this one."""
        rows = self.rows
        if rows.dim != WHOLE or rows.owners is None:
            return self
        return Layout(Rows(0, owners=rows.owners.expand(size)), self.groups)

    def grouped(self, tensor: Tensor, dim: int = 0) -> Tensor:
        """Return the slices along ``dim`` first, each environment's adjacent; a copy only where they are not already."""
        rows, order = self.rows, self.groups.order
        if dim:
            tensor = tensor.movedim(dim, 0)
        if rows.owners is not None:
            return tensor if self.order is None else tensor.index_select(0, self.order.to(tensor.device))
        if rows.outer == 1 and order is None:
            return tensor
        parts = tensor.unflatten(0, (rows.outer, -1, rows.inner)).transpose(0, 1)
        return (parts if order is None else parts.index_select(0, order)).flatten(0, 2)

    def slices(self) -> Iterator[slice]:
        """Yield each environment's slices in a grouped tensor."""
        yield from slices_of(self.sizes)

    def sums(self, tensor: Tensor, dim: int = 0) -> Tensor:
        """Return (E, *rest): the sum of each environment's slices along ``dim``, wherever they lie."""
        rows, groups = self.rows, self.groups
        if rows.owners is None:
            if dim == 0 and rows.outer == 1 and groups.equal and groups.order is None:  # as good as always
                return tensor.reshape(groups.count, len(tensor) // groups.count, *tensor.shape[1:]).sum(1)
            parts = tensor.unflatten(dim, (rows.outer, -1, rows.inner))
            if groups.equal and groups.order is None:
                parts = parts.unflatten(dim + 1, (groups.count, -1)).sum((dim, dim + 2, dim + 3))
                return parts.movedim(dim, 0)
            return _added(parts.sum((dim, dim + 2)).movedim(dim, 0), groups.index, groups.count)
        tensor, owners = tensor.movedim(dim, 0), rows.owners
        reached = owners >= 0
        if not bool(reached.all()):
            tensor, owners = tensor[reached.to(tensor.device)], owners[reached]
        return _added(tensor, owners, groups.count)


def slices_of(sizes: Sequence[int]) -> Iterator[slice]:
    """Yield adjacent slices of these sizes."""
    start = 0
    for size in sizes:
        yield slice(start, start + size)
        start += size


def starts_of(sizes: Sequence[int]) -> list[int]:
    """Return where adjacent slices of these sizes start, and where the last ends.

    >>> starts_of([2, 0, 3])
    [0, 2, 2, 5]
    """
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    return starts


def _added(parts: Tensor, owners: Tensor, count: int) -> Tensor:
    return parts.new_zeros(count, *parts.shape[1:]).index_add_(0, owners.to(parts.device), parts)
