"""Tests for conflict, slow and literal: every example's gradient by a backward pass of its own. Imports nothing of ours."""

import math

import torch
from torch import Tensor


def example_gradients(losses: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    """(B, *p) for each parameter, 0 where a loss does not reach it."""
    rows = []
    for loss in losses:
        found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
        rows.append([torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)])
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def moments(gradients: Tensor, environments: list[int]) -> list[tuple[Tensor, Tensor, int]]:
    """For each environment, ascending: its mean gradient, the squared standard error of that, and its number of examples."""
    found = []
    for e in sorted(set(environments)):
        own = gradients[[b for b, other in enumerate(environments) if other == e]]
        found.append((own.mean(0), own.var(0, unbiased=True) / len(own), len(own)))
    return found


def evidence(gradient: Tensor, error: Tensor, degrees: float) -> Tensor:
    """z^2: the normal deviate of Student's t, above two degrees in Wallace's approximation; 0 where the gradient is 0."""
    from scipy.stats import norm
    from scipy.stats import t as student

    t2 = torch.where(gradient == 0, 0.0, gradient**2 / error)
    if degrees in (1, 2):
        return torch.from_numpy(norm.isf(student.sf(t2.sqrt().cpu().numpy(), degrees)) ** 2).to(t2.device)
    return ((8 * degrees + 1) / (8 * degrees + 3)) ** 2 * degrees * torch.log1p(t2 / degrees)


def sides(found: list[tuple[Tensor, Tensor, int]]) -> tuple[Tensor, Tensor]:
    """Q+ and Q-."""
    positive, negative = torch.zeros_like(found[0][0]), torch.zeros_like(found[0][0])
    for gradient, error, examples in found:
        z2 = evidence(gradient, error, examples - 1)
        positive += torch.where(gradient > 0, z2, 0.0)
        negative += torch.where(gradient < 0, z2, 0.0)
    return positive, negative


def cochran(found: list[tuple[Tensor, Tensor, int]]) -> Tensor:
    """sum_e (g_e - weighted mean)^2 / s_e^2."""
    weights = [1 / error for _, error, _ in found]
    mean = sum(w * g for w, (g, _, _) in zip(weights, found, strict=True)) / sum(weights)
    return sum(w * (g - mean) ** 2 for w, (g, _, _) in zip(weights, found, strict=True))


def tail(value: float, environments: int) -> float:
    """sum_h Binomial(h; E - 1, 1/2) P(chi2_h > value), by scipy."""
    from scipy.stats import binom, chi2

    return sum(binom.pmf(h, environments - 1, 0.5) * chi2.sf(value, h) for h in range(1, environments))


def heterogeneous(found: list[tuple[Tensor, Tensor, int]], by: str, significance: float, ratio: float) -> Tensor:
    """True where masked."""
    count = len(found)
    gradients = torch.stack([g for g, _, _ in found])
    between, within = gradients.var(0, unbiased=True), torch.stack([s for _, s, _ in found]).mean(0)
    common = gradients.mean(0) ** 2 - between / count
    if by != "component" and between.dim() > 1:
        dims = [d for d in range(between.dim()) if d != (0 if by == "unit" else 1)]
        between, within, common = (t.sum(dims, keepdim=True).expand_as(t) for t in (between, within, common))
    bound = 1 + significance * math.sqrt(2 / (count - 1))
    return (between > bound * within) & (between - within > ratio * common)
