"""Which example belongs to which environment, and what losses by environment must be: for agreement, surfaces and methods.

Index conventions: b an example of B, e an environment of E.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]  # the base class of all BatchNorms

EnvironmentIds = Tensor | np.ndarray | Sequence[Any]
"""One integer for each example. What the sequence holds is checked by `partition`, with a sentence."""


@dataclass(frozen=True)
class Environments:
    """The partition of a batch of B examples into E environments.

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

    def means(self, rows: Float[Tensor, "b *rest"]) -> Float[Tensor, "e *rest"]:
        """Return each environment's mean over its examples, differentiable."""
        sums = rows.new_zeros(self.count, *rows.shape[1:]).index_add(0, self.index, rows)
        sizes = torch.tensor(self.sizes, dtype=rows.dtype, device=rows.device)
        return sums / sizes.view(-1, *[1] * (rows.dim() - 1))

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


def group(losses: Float[Tensor, "..."], environments: EnvironmentIds, least: int = 1) -> Environments:
    """Check unreduced losses and their environments' ids, and return the partition.

    Args:
        losses: (B,) one loss for each example.
        environments: B integers.
        least: how many environments are needed.

    Raises:
        TypeError: ids that are not integers.
        ValueError: reduced losses, ids that do not fit, too few environments.
    """
    check_unreduced(losses)
    groups = partition(environments, len(losses), losses.device)
    if groups.count < least:
        raise ValueError(
            f"The method compares at least {least} environments. Found {groups.count}. Give each source an id of its own."
        )
    return groups


def check_unreduced(losses: Tensor) -> None:
    """Refuse losses that are not one number for each example."""
    if losses.dim() == 0:
        raise ValueError(
            "`losses` should hold one unreduced loss for each example. Found a scalar, already reduced. "
            "Build the loss with reduction='none'."
        )
    if losses.dim() != 1 or len(losses) == 0:
        raise ValueError(
            f"`losses` should hold one loss for each example, shape (B,). Found shape {tuple(losses.shape)}. "
            "Sum or average the loss over everything but the examples, for example losses.flatten(1).mean(1)."
        )


def check_differentiable(losses: Tensor) -> None:
    """Refuse losses without a graph."""
    if losses.grad_fn is None:
        raise ValueError(
            "`losses` should be computed from the model's output with gradients enabled. Found losses without a graph. "
            "Leave torch.no_grad() and do not detach the output."
        )


def check_finite_losses(means: Tensor, groups: Environments) -> None:
    """Refuse NaN and infinite losses, and say in which environment they are."""
    finite = torch.isfinite(means)
    if not bool(finite.all()):
        bad = groups.ids[(~finite).cpu()].tolist()
        value = float(means[~finite][0])
        raise ValueError(
            f"Every loss should be finite. Found a mean loss of {value} in environment {bad[0]}"
            + (f" and {len(bad) - 1} more" if len(bad) > 1 else "")
            + ". Look at its inputs and targets, or lower the learning rate; no gradient was changed."
        )


def check_finite_sums(name: str, gradient: Tensor) -> None:
    """Refuse a NaN or infinite sum of environment gradients: a mask would turn it into a 0 without a word."""
    # A sum is one pass over the memory, a test of every component two; only a suspicion pays for the second.
    if not math.isfinite(gradient.sum()) and not bool(torch.isfinite(gradient).all()):
        raise FloatingPointError(
            f"Every gradient should be finite. Found NaN or infinity in the gradient of {name!r}. Lower the learning rate, or "
            "pass refuse_nonfinite=False where a GradScaler is to find overflows; no gradient was changed."
        )


def batch_norms_in_train_mode(model: nn.Module) -> list[str]:
    """Return the names of the layers whose batch statistics couple the examples of a batch.

    Without running statistics a layer normalises with the batch's in eval mode too.
    """
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None)
    ]
