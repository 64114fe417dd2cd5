"""What the methods share: examples by environment. Index conventions: b an example, e an environment, p a component."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Groups:
    """A batch by environment.

    Attributes:
        index: (B,) the position of each example's environment among the distinct ids, ascending.
        sizes: (E,) how many examples each has.
    """

    index: Int[Tensor, " b"]
    sizes: Int[Tensor, " e"]

    def means(self, rows: Float[Tensor, "b *rest"]) -> Float[Tensor, "e *rest"]:
        """Return each environment's mean over its examples, differentiable."""
        sums = rows.new_zeros(len(self.sizes), *rows.shape[1:]).index_add(0, self.index, rows)
        return sums / self.sizes.to(rows.dtype).view(-1, *[1] * (rows.dim() - 1))


def group(losses: Float[Tensor, "..."], environments: Tensor | Sequence[int], least: int = 1) -> Groups:
    """Check unreduced losses and their environments' ids, and return the groups.

    Args:
        losses: (B,) one loss for each example.
        environments: B integers.
        least: how many environments the method needs.

    Raises:
        TypeError: ids that are not integers.
        ValueError: reduced losses, ids that do not fit, too few environments.
    """
    if losses.dim() != 1 or len(losses) == 0:
        raise ValueError(
            f"`losses` should hold one unreduced loss for each example, shape (B,). Found shape {tuple(losses.shape)}. "
            "Build the loss with reduction='none'."
        )
    ids = torch.as_tensor(environments, device=losses.device)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(f"`environments` should hold integers. Found dtype {ids.dtype}. Number the environments.")
    if ids.shape != losses.shape:
        raise ValueError(f"`environments` should have one id for each of {len(losses)} losses. Found shape {tuple(ids.shape)}.")
    _, index, sizes = torch.unique(ids, return_inverse=True, return_counts=True)
    if len(sizes) < least:
        raise ValueError(
            f"The method compares at least {least} environments. Found {len(sizes)}. Give each source an id of its own."
        )
    return Groups(index, sizes)


def environment_gradients(
    losses: Float[Tensor, " b"], groups: Groups, parameters: Sequence[Tensor], *, create_graph: bool
) -> Float[Tensor, "e p"]:
    """Return every environment's gradient of its mean loss over all parameters, flat: E backward passes.

    A parameter that an environment's loss does not reach has gradient 0 there.
    """
    rows: list[Tensor] = []
    for mean in groups.means(losses):
        found = torch.autograd.grad(mean, parameters, retain_graph=True, create_graph=create_graph, materialize_grads=True)
        rows.append(torch.cat([gradient.flatten() for gradient in found]))
    return torch.stack(rows)
