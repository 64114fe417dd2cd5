"""The partition of a batch into environments.

Index conventions: b an example of B, e an environment of E.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from mechlearn.environments.ids import EnvironmentIds, Ids, distinct, named, read_ids
from mechlearn.environments.losses import check_unreduced


@dataclass(frozen=True)
class Environments:
    """The partition of a batch of B examples into E environments.

    Attributes:
        ids: (E,) the distinct ids, ascending where they have an order, else as they appear.
        index: (B,) the position in ``ids`` of each example's environment.
        sizes: E numbers of examples.
        order: (B,) a stable permutation that makes each environment's examples adjacent, or None where they already are.
    """

    ids: Ids
    index: Int[Tensor, " b"]
    sizes: tuple[int, ...]
    order: Int[Tensor, " b"] | None

    @property
    def count(self) -> int:
        """E, the number of environments."""
        return len(self.sizes)

    @cached_property
    def equal(self) -> bool:
        """True where every environment has the same number of examples."""
        return min(self.sizes) == max(self.sizes)

    def mean_weights(self, losses: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """Return 1 / n_e for each example, in the losses' dtype and on their device.

        ``(losses * weights).sum()`` is the sum over e of environment e's mean loss.
        """
        # Divided in float64: float16 has no number above 65504, and an environment that large would weigh nothing.
        if self.equal:
            return losses.new_full(losses.shape, 1 / self.sizes[0])
        sizes = torch.tensor([1 / size for size in self.sizes], dtype=torch.float64)
        return sizes.to(losses.dtype).to(losses.device)[self.index]

    def means(self, rows: Float[Tensor, "b *rest"]) -> Float[Tensor, "e *rest"]:
        """Return each environment's mean over its examples, differentiable, in float32 or wider."""
        wide = torch.promote_types(rows.dtype, torch.float32)
        if self.equal and self.order is None:
            return rows.to(wide).reshape(self.count, self.sizes[0], *rows.shape[1:]).mean(1)
        sums = rows.new_zeros(self.count, *rows.shape[1:], dtype=wide).index_add(0, self.index, rows.to(wide))
        sizes = torch.tensor(self.sizes, dtype=wide, device=rows.device)
        return sums / sizes.view(-1, *[1] * (rows.dim() - 1))

    def sums(self, values: Float[Tensor, " b"]) -> Float[Tensor, " e"]:
        """Return the sum of each environment's values, in float32 or wider."""
        wide = torch.promote_types(values.dtype, torch.float32)
        return values.new_zeros(self.count, dtype=wide).index_add_(0, self.index, values.to(wide))

    def named(self, position: int) -> object:
        """Return the id at a position of `ids` as the user wrote it."""
        return named(self.ids, position)

    def grouped(self, rows: Shaped[Tensor, "b *rest"]) -> Shaped[Tensor, "b *rest"]:
        """Return the rows with each environment's examples adjacent, in the order of ``ids``; a copy only where needed."""
        return rows if self.order is None else rows.index_select(0, self.order)

    def slices(self) -> Iterator[slice]:
        """Yield the rows of each environment in a grouped tensor."""
        start = 0
        for size in self.sizes:
            yield slice(start, start + size)
            start += size


class _Adjacent(Environments):
    """A partition of environments that are adjacent, whose index is made when it is asked for: it seldom is."""

    def __init__(self, ids: Tensor, sizes: tuple[int, ...], device: torch.device) -> None:
        self.__dict__.update(ids=ids, sizes=sizes, order=None, _device=device)

    @cached_property
    def index(self) -> Int[Tensor, " b"]:  # pyright: ignore[reportIncompatibleVariableOverride]  # a field made late
        """The position in ``ids`` of each example's environment."""
        return torch.from_numpy(np.arange(len(self.sizes)).repeat(self.sizes)).to(self.__dict__["_device"])


def partition(environments: EnvironmentIds, batch: int, device: torch.device) -> Environments:
    """Check environment ids and return the partition they describe.

    Args:
        environments: one id for each of the batch's examples, in any order: integers, or strings, tuples and whatever else is
            hashable.
        batch: B, the number of examples.
        device: where the losses live.

    Returns:
        Which example belongs to which environment.

    Raises:
        TypeError: no sequence of ids, or ids that are numbers without being integers, missing, or not hashable.
        ValueError: ids that are not one for each example.
    """
    ids = read_ids(environments)
    shape = tuple(ids.shape) if isinstance(ids, Tensor) else (len(ids),)
    if shape != (batch,):
        raise ValueError(
            f"`environments` should have one id for each of the {batch} losses, shape ({batch},). Found shape {shape}. "
            "Pass the ids of this batch's examples."
        )
    if not isinstance(ids, Tensor):
        names = distinct(ids)
        places = {name: place for place, name in enumerate(names)}
        found = partition(torch.tensor([places[name] for name in ids]), batch, device)
        return Environments(tuple(names), found.index, found.sizes, found.order)
    return _adjacent(ids.numpy(), device) or _sorted(ids, device)


def _adjacent(ids: np.ndarray, device: torch.device) -> Environments | None:
    """Return the partition of ids that ascend, None for others; arrays, as a tensor's operations cost more to call."""
    if not len(ids):
        return None
    starts = [0, *((ids[1:] != ids[:-1]).nonzero()[0] + 1).tolist()]
    found = ids[starts]
    if (found[1:] < found[:-1]).any():
        return None
    sizes = tuple(end - start for start, end in zip(starts, [*starts[1:], len(ids)], strict=True))
    return _Adjacent(torch.from_numpy(found), sizes, device)


def _sorted(ids: Tensor, device: torch.device) -> Environments:
    found, index, sizes = torch.unique(ids, sorted=True, return_inverse=True, return_counts=True)
    return Environments(found, index.to(device), tuple(sizes.tolist()), torch.argsort(index, stable=True).to(device))


def group(losses: Float[Tensor, "..."], environments: EnvironmentIds, least: int = 1) -> Environments:
    """Check unreduced losses and their environments' ids, and return the partition.

    Args:
        losses: (B,) one loss for each example.
        environments: B ids: integers, texts or anything hashable.
        least: how many environments are needed.

    Returns:
        Which example belongs to which environment.

    Raises:
        TypeError: ids that cannot be hashed.
        ValueError: reduced losses, ids that do not fit, too few environments.
    """
    check_unreduced(losses)
    groups = partition(environments, len(losses), losses.device)
    if groups.count < least:
        raise ValueError(
            f"The method compares at least {least} environments. Found {groups.count}. Give each source an id of its own."
        )
    return groups


def check_finite_losses(means: Tensor, groups: Environments) -> None:
    """Reject NaN and infinite losses, and say in which environment they are."""
    if math.isfinite(means.sum()):  # one call; only a suspicion pays for more
        return
    finite = torch.isfinite(means)
    if not bool(finite.all()):
        bad = (~finite).nonzero()[:, 0].tolist()
        raise ValueError(
            f"Every loss should be finite. Found a mean loss of {float(means[bad[0]])} in environment {groups.named(bad[0])}"
            + (f" and {len(bad) - 1} more" if len(bad) > 1 else "")
            + ". Look at its inputs and targets, or lower the learning rate; no gradient was changed."
        )
