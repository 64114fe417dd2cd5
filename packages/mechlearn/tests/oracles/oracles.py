"""The papers' equations, slow and literal: what every fast path is compared with.

Nothing here imports mechlearn. Environment gradients are stacked, thresholds are exact fractions, and each environment gets a
forward pass of its own.
"""

from collections.abc import Callable
from fractions import Fraction

import torch
from torch import Tensor, nn


def stacked_gradients(
    model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor, ids: Tensor
) -> dict[str, Tensor]:
    """g_e for every environment, (E, *shape) by parameter name: forward and backward on that environment's examples alone."""
    stacks: dict[str, list[Tensor]] = {name: [] for name, p in model.named_parameters() if p.requires_grad}
    for e in sorted(set(ids.tolist())):
        rows = ids == e
        mean_loss = loss(model(x[rows]), y[rows]).mean()
        parameters = {name: p for name, p in model.named_parameters() if name in stacks}
        gradients = torch.autograd.grad(mean_loss, list(parameters.values()), allow_unused=True)
        for (name, p), g in zip(parameters.items(), gradients, strict=True):
            stacks[name].append(torch.zeros_like(p) if g is None else g)
    return {name: torch.stack(g) for name, g in stacks.items()}


def and_mask(g: Tensor, threshold: str) -> Tensor:
    """m = 1[ threshold * E <= abs(sum_e sign g_e) ] in exact rational arithmetic; the threshold is written in decimal."""
    least = Fraction(threshold) * len(g)
    agreement = g.sign().sum(0).abs()
    return torch.tensor([Fraction(int(a)) >= least for a in agreement.flatten().tolist()], device=g.device).reshape(g.shape[1:])


def mean(g: Tensor) -> Tensor:
    """(1 / E) sum_e g_e."""
    return sum(g, start=torch.zeros_like(g[0])) / len(g)


def geometric_mean(g: Tensor) -> Tensor:
    """The E-th root of the product of magnitudes, with the sign of the mean."""
    return mean(g).sign() * g.abs().prod(0) ** (1 / len(g))


def rescale(gradient: Tensor, mask: Tensor, power: float = 1.0) -> Tensor:
    """(numel / survivors) ** power times the gradient; all zeros stay."""
    survivors = int(mask.sum())
    return gradient * (mask.numel() / survivors) ** power if survivors else gradient * 0


def combine(rule: str, g: Tensor, threshold: str) -> tuple[Tensor, Tensor]:
    """(gradient, mask) of a rule by its name in the specification's table."""
    mask = and_mask(g, threshold)
    if rule == "mean":
        return mean(g), torch.ones_like(mask)
    if rule == "and-mask":
        return mask * mean(g), mask
    if rule == "geometric mean":
        return mask * geometric_mean(g), mask
    if rule == "xor-mask":
        return ~mask * mean(g), ~mask
    raise KeyError(rule)
