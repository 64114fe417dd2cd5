"""Losses that a compiler traces: small networks, those without a formula of their own, and second derivatives.

Each is a function of the batch's tensors, which closes over its model: what `Agreement.compile` takes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own habit
from mechlearn_zoo_benchmarks.entrants.masks.networks import relu_mlp
from mechlearn_zoo_benchmarks.entrants.masks.transformers import Size, gpt2
from torch import Generator, Tensor, nn
from torch.nn.utils.parametrizations import weight_norm


@dataclass(frozen=True)
class Traced:
    """One training step's inputs; environments are adjacent and of equal sizes.

    Attributes:
        model: the network.
        losses_of: from the batch to (B,) losses.
        batch: tensors of (B, ...).
        count: E, the number of environments.
        threshold: of the AND-mask.
    """

    model: nn.Module
    losses_of: Callable[..., Tensor]
    batch: tuple[Tensor, ...]
    count: int
    threshold: float = 0.6

    @property
    def environments(self) -> Tensor:
        """(B,) ids, ascending."""
        ids = torch.arange(self.count, device=self.batch[0].device)
        return ids.repeat_interleave(len(self.batch[0]) // self.count)

    def to(self, device: str) -> "Traced":
        """Return it on a device; its model is moved there."""
        self.model.to(device)
        return replace(self, batch=tuple(tensor.to(device) for tensor in self.batch))

    def parts(self) -> list[tuple[Tensor, ...]]:
        """Return each environment's batch."""
        columns = [tensor.chunk(self.count) for tensor in self.batch]
        return list(zip(*columns, strict=True))

    def clean(self) -> None:
        """Drop the gradients."""
        self.model.zero_grad(set_to_none=True)


def _of_table(model: nn.Module, count: int, rows: int, seed: int, decay: float = 0.0) -> Traced:
    generator = Generator().manual_seed(seed)
    x, y = torch.randn(count * rows, 34, generator=generator), torch.randn(count * rows, generator=generator)

    def losses_of(x: Tensor, y: Tensor) -> Tensor:
        found = (model(x)[:, 0] - y).square()
        return found + decay * sum(p.square().sum() for p in model.parameters()) if decay else found

    return Traced(model, losses_of, (x, y), count)


def _widths(small: bool) -> list[int]:
    return [34, 8, 1] if small else [34, 256, 256, 256, 1]


def mlp(small: bool, seed: int) -> Traced:
    """32 environments of 128 rows of a table."""
    torch.manual_seed(seed)
    return _of_table(relu_mlp(_widths(small)), *((3, 4) if small else (32, 128)), seed)


def single_rows(small: bool, seed: int) -> Traced:
    """128 environments of one row."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for one, other in pairwise(_widths(small)[:-1]):
        layers += [nn.Linear(one, other), nn.LayerNorm(other), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(_widths(small)[-2], 1))
    return _of_table(model, 6 if small else 128, 1, seed)


def normed(small: bool, seed: int) -> Traced:
    """Weight norm: 8 environments of 128 rows."""
    torch.manual_seed(seed)
    layers = [weight_norm(one) if isinstance(one, nn.Linear) else one for one in relu_mlp(_widths(small))]
    return _of_table(nn.Sequential(*layers), *((3, 4) if small else (8, 128)), seed)


class Adapted(nn.Module):
    """A linear layer whose weight is W + B A, all of them trained."""

    def __init__(self, layer: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.layer, (outputs, inputs) = layer, layer.weight.shape
        self.a = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.b = nn.Parameter(0.1 * torch.randn(outputs, rank))

    def forward(self, x: Tensor) -> Tensor:
        """Apply it."""
        return F.linear(x, self.layer.weight + self.b @ self.a, self.layer.bias)


def adapted(small: bool, seed: int) -> Traced:
    """W + B A: 8 environments of 128 rows."""
    torch.manual_seed(seed)
    layers = [Adapted(one) if isinstance(one, nn.Linear) else one for one in relu_mlp(_widths(small))]
    return _of_table(nn.Sequential(*layers), *((3, 4) if small else (8, 128)), seed)


def penalised(small: bool, seed: int) -> Traced:
    """The sum of squared weights in every loss: 8 environments of 256 rows."""
    torch.manual_seed(seed)
    return _of_table(relu_mlp(_widths(small)), *((3, 4) if small else (8, 256)), seed, decay=1e-4)


def language(small: bool, seed: int) -> Traced:
    """A GPT-2 of 3 blocks and width 128: 8 environments of one text of 128 tokens."""
    torch.manual_seed(seed)
    size = Size(16, 2, 2, 20, 6) if small else Size(128, 3, 4, 256, 128)
    model, count = gpt2(size), 3 if small else 8
    generator = Generator().manual_seed(seed)
    x, y = (torch.randint(0, size.vocabulary, (count, size.length), generator=generator) for _ in range(2))

    def losses_of(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x).transpose(1, 2), y, reduction="none").mean(1)

    return Traced(model, losses_of, (x, y), count)


def physics(small: bool, seed: int) -> Traced:
    """Second derivatives in the losses, u'' + u = 0: 8 environments of 256 points."""
    torch.manual_seed(seed)
    width, count, rows = (8, 3, 4) if small else (128, 8, 256)
    model = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    x = torch.randn(count * rows, 1, generator=Generator().manual_seed(seed))

    def u(point: Tensor) -> Tensor:
        return model(point[None])[0, 0]

    def slope(point: Tensor) -> Tensor:
        return torch.func.grad(u)(point).sum()

    def losses_of(x: Tensor) -> Tensor:
        return (torch.func.vmap(torch.func.grad(slope))(x) + model(x)).square().mean(1)

    return Traced(model, losses_of, (x,), count)


WORKLOADS: dict[str, Callable[[bool, int], Traced]] = {
    "mlp-34": mlp,
    "mlp-34, single rows": single_rows,
    "weight norm": normed,
    "W + B A": adapted,
    "L2 in the losses": penalised,
    "gpt2, 3 blocks": language,
    "second derivatives": physics,
}
"""From a workload's name to the function (small, seed) -> inputs."""
