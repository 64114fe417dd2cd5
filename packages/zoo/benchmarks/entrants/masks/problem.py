"""A problem: a model, a batch, its environments and a threshold. Index conventions: b an example, e an environment."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

Loss = Callable[[Tensor, Tensor], Tensor]
"""From outputs and targets of B examples to B unreduced losses."""


@dataclass(frozen=True)
class Problem:
    """One training step's inputs. Environments are adjacent and of equal sizes, as every method here can take them.

    Attributes:
        model: the network, in train mode.
        loss: from outputs and targets to one loss for each example.
        x: (B, ...) inputs.
        y: (B,) targets.
        environments: (B,) ids, ascending.
        threshold: of the AND-mask, the papers' tau.
    """

    model: nn.Module
    loss: Loss
    x: Tensor
    y: Tensor
    environments: Tensor
    threshold: float

    @property
    def count(self) -> int:
        """E, the number of environments."""
        return int(self.environments[-1]) + 1

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The model's trainable parameters."""
        return [p for p in self.model.parameters() if p.requires_grad]

    def losses(self) -> Tensor:
        """Return (B,) losses of one forward pass over the whole batch."""
        return self.loss(self.model(self.x), self.y)

    def by_environment(self, rows: Tensor) -> Tensor:
        """View (B, ...) as (E, B / E, ...)."""
        return rows.view(self.count, -1, *rows.shape[1:])

    def stacked_bytes(self, rows: int) -> int:
        """Return what `rows` gradients of the whole model take."""
        return rows * sum(p.numel() * p.element_size() for p in self.parameters)

    def to(self, device: str) -> "Problem":
        """Return the problem on a device; its model is moved there."""
        x, y, environments = (t.to(device) for t in (self.x, self.y, self.environments))
        return replace(self, model=self.model.to(device), x=x, y=y, environments=environments)

    def copy(self) -> "Problem":
        """Return the problem with a model of its own: a method may hang hooks on it."""
        return replace(self, model=copy.deepcopy(self.model))

    def double(self) -> "Problem":
        """Return a copy in float64."""
        x, y = (t.double() if t.is_floating_point() else t for t in (self.x, self.y))  # tokens and labels are integers
        return replace(self, model=copy.deepcopy(self.model).double(), x=x, y=y)

    def clean(self) -> None:
        """Drop the gradients, as an optimiser's zero_grad does."""
        self.model.zero_grad(set_to_none=True)


def single_examples(count: int) -> Tensor:
    """Return the ids of environments of one example each."""
    return torch.arange(count)
