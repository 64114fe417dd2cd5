"""Losses that a compiler traces: small networks, those without a formula of their own, and second derivatives.

Each is a function of the batch's tensors, which closes over its model: what `Agreement.compile` takes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own habit
from mechlearn_zoo_benchmarks.entrants.masks.networks import relu_mlp, resnet
from mechlearn_zoo_benchmarks.entrants.masks.transformers import Size, VisionTransformer, gpt2, llama
from torch import Generator, Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm


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

    def double(self) -> "Traced":
        """Return it in float64; its model is changed."""
        self.model.double()
        return replace(self, batch=tuple(tensor.double() if tensor.is_floating_point() else tensor for tensor in self.batch))

    def parts(self) -> list[tuple[Tensor, ...]]:
        """Return each environment's batch."""
        columns = [tensor.chunk(self.count) for tensor in self.batch]
        return list(zip(*columns, strict=True))

    def clean(self) -> None:
        """Drop the gradients."""
        self.model.zero_grad(set_to_none=True)


def _of_table(model: nn.Module, count: int, rows: int, seed: int, decay: float = 0.0, columns: int = 34) -> Traced:
    generator = Generator().manual_seed(seed)
    x, y = torch.randn(count * rows, columns, generator=generator), torch.randn(count * rows, generator=generator)

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


def tiny(small: bool, seed: int) -> Traced:
    """16 environments of 16 rows of a table of 17 columns: a step is calls, not arithmetic."""
    torch.manual_seed(seed)
    model = relu_mlp([17, 8, 1] if small else [17, 64, 64, 1])
    return _of_table(model, *((3, 4) if small else (16, 16)), seed, columns=17)


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
    """A linear layer whose weight is W + B A, all of them trained; with magnitudes, as in DoRA, its rows have learnt norms."""

    def __init__(self, layer: nn.Linear, magnitudes: bool, rank: int = 4) -> None:
        super().__init__()
        self.layer, (outputs, inputs) = layer, layer.weight.shape
        self.a = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.b = nn.Parameter(0.1 * torch.randn(outputs, rank))
        self.magnitude = nn.Parameter(layer.weight.detach().norm(dim=1, keepdim=True)) if magnitudes else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply it."""
        weight = self.layer.weight + self.b @ self.a
        if self.magnitude is not None:
            weight = self.magnitude * weight / weight.norm(dim=1, keepdim=True)
        return F.linear(x, weight, self.layer.bias)


def adapted(small: bool, seed: int, magnitudes: bool = False) -> Traced:
    """W + B A: 8 environments of 128 rows."""
    torch.manual_seed(seed)
    layers = [Adapted(one, magnitudes) if isinstance(one, nn.Linear) else one for one in relu_mlp(_widths(small))]
    return _of_table(nn.Sequential(*layers), *((3, 4) if small else (8, 128)), seed)


def spectral(small: bool, seed: int) -> Traced:
    """Spectral norm, its vectors kept: 8 environments of 128 rows."""
    torch.manual_seed(seed)
    layers = [spectral_norm(one) if isinstance(one, nn.Linear) else one for one in relu_mlp(_widths(small))]
    return _of_table(nn.Sequential(*layers).eval(), *((3, 4) if small else (8, 128)), seed)


def temporal(small: bool, seed: int) -> Traced:
    """Dilated convolutions with weight norm over 64 steps, as a TCN has them: 8 environments of 16 sequences."""
    torch.manual_seed(seed)
    width, count, rows, steps = (4, 3, 2, 16) if small else (64, 8, 16, 64)
    layers: list[nn.Module] = []
    for number in range(4):
        dilation = 2**number
        layers += [nn.ConstantPad1d((2 * dilation, 0), 0.0), nn.ReLU()][: 2 if number else 1]
        layers.append(weight_norm(nn.Conv1d(width if number else 3, width, 3, dilation=dilation)))
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 10))
    return _classes(model, (count * rows, 3, steps), count, seed)


def penalised(small: bool, seed: int) -> Traced:
    """The sum of squared weights in every loss: 8 environments of 256 rows."""
    torch.manual_seed(seed)
    return _of_table(relu_mlp(_widths(small)), *((3, 4) if small else (8, 256)), seed, decay=1e-4)


def _language(make: Callable[[Size], nn.Module], size: Size, count: int, texts: int) -> Callable[[bool, int], Traced]:
    """A language model: environments of some texts, each as long as the model reads."""

    def problem(small: bool, seed: int) -> Traced:
        torch.manual_seed(seed)
        own, environments, rows = (Size(16, 2, 2, 20, 6), 3, 1) if small else (size, count, texts)
        model = make(own)
        generator = Generator().manual_seed(seed)
        x, y = (torch.randint(0, own.vocabulary, (environments * rows, own.length), generator=generator) for _ in range(2))

        def losses_of(x: Tensor, y: Tensor) -> Tensor:
            return F.cross_entropy(model(x).transpose(1, 2), y, reduction="none").mean(1)

        return Traced(model, losses_of, (x, y), environments)

    return problem


def _classes(model: nn.Module, shape: tuple[int, ...], count: int, seed: int) -> Traced:
    """Ten classes of random inputs."""
    generator = Generator().manual_seed(seed)
    x, y = torch.randn(*shape, generator=generator), torch.randint(0, 10, shape[:1], generator=generator)
    return Traced(model, lambda x, y: F.cross_entropy(model(x), y, reduction="none"), (x, y), count)


def _pictures(make: Callable[[bool], nn.Module], count: int) -> Callable[[bool, int], Traced]:
    """Environments of 8 pictures of 3 x 32 x 32."""

    def problem(small: bool, seed: int) -> Traced:
        torch.manual_seed(seed)
        environments, rows, side = (3, 2, 8) if small else (count, 8, 32)
        return _classes(make(small), (environments * rows, 3, side, side), environments, seed)

    return problem


def _vit(small: bool) -> nn.Module:
    """ViT-Tiny; pictures of 32 x 32 have 16 patches of 8 x 8."""
    return VisionTransformer(Size(16, 2, 2, 10, 4)) if small else VisionTransformer(Size(192, 12, 3, 10, 16), patch=8)


def _residual(small: bool) -> nn.Module:
    """ResNet-20 with GroupNorm."""
    return resnet(blocks=1, width=8) if small else resnet()


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


def contrastive(small: bool, seed: int) -> Traced:
    """Supervised contrastive losses (Khosla et al. 2020, equation 2) over pairs of one environment: 8 of 64 rows, 4 classes."""
    torch.manual_seed(seed)
    count, rows = (3, 4) if small else (8, 64)
    model = relu_mlp([34, 8, 4] if small else [34, 256, 256, 64])
    generator = Generator().manual_seed(seed)
    x, y = torch.randn(count * rows, 34, generator=generator), torch.arange(4).repeat(count * rows // 4)
    ids = torch.arange(count).repeat_interleave(rows)

    def losses_of(x: Tensor, y: Tensor, ids: Tensor) -> Tensor:
        z = F.normalize(model(x))
        others = (ids[:, None] == ids) & ~torch.eye(len(x), dtype=torch.bool, device=x.device)
        positive = others & (y[:, None] == y)
        logs = (z @ z.T / 0.5).masked_fill(~others, float("-inf")).log_softmax(1)
        return -logs.masked_fill(~positive, 0.0).sum(1) / positive.sum(1).clamp(min=1)

    return Traced(model, losses_of, (x, y, ids), count)


WORKLOADS: dict[str, Callable[[bool, int], Traced]] = {
    "mlp-34": mlp,
    "mlp-34 single rows": single_rows,
    "mlp-17": tiny,
    "gpt2 8x1": _language(gpt2, Size(128, 3, 4, 256, 128), 8, 1),
    "gpt2 4x8": _language(gpt2, Size(), 4, 8),
    "gpt2 16x8": _language(gpt2, Size(), 16, 8),
    "llama 4x8": _language(llama, Size(), 4, 8),
    "llama 16x8": _language(llama, Size(), 16, 8),
    "vit-tiny 4x8": _pictures(_vit, 4),
    "vit-tiny 16x8": _pictures(_vit, 16),
    "resnet20-gn 16x8": _pictures(_residual, 16),
    "weight norm": normed,
    "weight norm convolutions": temporal,
    "spectral norm": spectral,
    "W + B A": adapted,
    "DoRA": lambda small, seed: adapted(small, seed, magnitudes=True),
    "L2 in the losses": penalised,
    "second derivatives": physics,
    "contrastive": contrastive,
}
"""From a workload's name to the function (small, seed) -> inputs; 4x8 is 4 environments of 8 texts or pictures."""
