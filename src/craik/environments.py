"""Which example belongs to which environment, checked and put in a form that streams."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

EnvironmentIds = Tensor | np.ndarray | Sequence[Any]
"""One integer for each example. What the sequence holds is checked by `partition`, with a sentence."""


@dataclass(frozen=True)
class Environments:
    """The partition of a batch of B examples into E environments; index conventions: b an example, e an environment.

    Attributes:
        ids: (E,) the distinct ids, ascending.
        index: (B,) the position in ``ids`` of each example's environment.
        sizes: E numbers of examples.
        order: (B,) a stable permutation that makes each environment's examples adjacent, or None where they already are.
    """

    ids: Int[Tensor, " e"]
    index: Int[Tensor, " b"]
    sizes: tuple[int, ...]
    order: Int[Tensor, " b"] | None

    @property
    def count(self) -> int:
        """E, the number of environments."""
        return len(self.sizes)

    @property
    def equal(self) -> bool:
        """True where every environment has the same number of examples."""
        return min(self.sizes) == max(self.sizes)

    def mean_weights(self, losses: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """Return 1 / n_e for each example, in the losses' dtype and on their device.

        ``(losses * weights).sum()`` is the sum over e of environment e's mean loss.
        """
        sizes = torch.tensor(self.sizes, dtype=losses.dtype, device=losses.device)
        return (1 / sizes)[self.index]

    def means(self, losses: Float[Tensor, " b"]) -> Float[Tensor, " e"]:
        """Return each environment's mean loss."""
        return self.sums(losses * self.mean_weights(losses))

    def sums(self, values: Float[Tensor, " b"]) -> Float[Tensor, " e"]:
        """Return the sum of each environment's values."""
        return values.new_zeros(self.count).index_add_(0, self.index, values)

    def grouped(self, rows: Shaped[Tensor, "b *rest"]) -> Shaped[Tensor, "b *rest"]:
        """Return the rows with each environment's examples adjacent, in the order of ``ids``; a copy only where needed."""
        return rows if self.order is None else rows.index_select(0, self.order)

    def slices(self) -> Iterator[slice]:
        """Yield the rows of each environment in a grouped tensor."""
        start = 0
        for size in self.sizes:
            yield slice(start, start + size)
            start += size


def partition(environments: EnvironmentIds, batch: int, device: torch.device) -> Environments:
    """Check environment ids and return the partition they describe.

    Args:
        environments: one integer id for each of the batch's examples; any integers, in any order.
        batch: B, the number of examples.
        device: where the losses live.

    Raises:
        TypeError: ids that are not integers.
        ValueError: ids that are not one for each example.
    """
    ids = _as_tensor(environments)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(
            f"`environments` should hold integers, one id for each example. Found dtype {ids.dtype}. "
            "Number the environments, for example with torch.unique(..., return_inverse=True)."
        )
    if ids.shape != (batch,):
        raise ValueError(
            f"`environments` should have one id for each of the {batch} losses, shape ({batch},). "
            f"Found shape {tuple(ids.shape)}."
        )
    # All bookkeeping happens on the CPU: ids usually come from a loader, and sizes are needed as Python numbers.
    ids = ids.to("cpu", torch.int64)
    adjacent = bool((ids[1:] >= ids[:-1]).all())
    distinct, index, sizes = (
        torch.unique_consecutive(ids, return_inverse=True, return_counts=True)  # needs no sorting
        if adjacent
        else torch.unique(ids, sorted=True, return_inverse=True, return_counts=True)
    )
    order = None if adjacent else torch.argsort(index, stable=True).to(device)
    return Environments(distinct, index.to(device), tuple(sizes.tolist()), order)


def _as_tensor(environments: EnvironmentIds) -> Tensor:
    if isinstance(environments, Tensor):
        return environments.detach()
    try:
        return torch.as_tensor(np.asarray(environments))
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`environments` should be a tensor, an array or a list of integers, one id for each example. "
            f"Found {type(environments).__name__}: {error}."
        ) from None


def chunk_length(numel: int, budget: int) -> int:
    """Return how many stacked gradients of ``numel`` elements fit a budget of elements, at least one."""
    return max(1, math.floor(budget / max(1, numel)))
