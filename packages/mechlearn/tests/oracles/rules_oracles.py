"""Rules beyond the papers, slow and literal; for the papers' own see oracles.py. Nothing here imports mechlearn.

A component is a list of E numbers, worked on one after the other in exact fractions wherever a decision is made.
"""

import math
from fractions import Fraction

import torch
from torch import Tensor

import oracles


def _by_component(g: Tensor, function) -> tuple[Tensor, Tensor]:
    columns = g.flatten(1).T.tolist()
    results = [function(column) for column in columns]
    gradient, weight = (torch.tensor(part, dtype=g.dtype).reshape(g.shape[1:]) for part in zip(*results, strict=True))
    return gradient, weight


def median_sign(g: Tensor, threshold: str) -> tuple[Tensor, Tensor]:
    """The side with more votes, if it leads by threshold * E votes or more; a tie is no vote."""

    def component(column):
        lead = sum(value > 0 for value in column) - sum(value < 0 for value in column)
        survives = lead != 0 and abs(lead) >= Fraction(threshold) * len(column)
        return math.copysign(1.0, lead) * survives, survives

    gradient, mask = _by_component(g, component)
    return gradient, mask.bool()


def signal_to_noise(g: Tensor, ratio: float) -> tuple[Tensor, Tensor]:
    """abs(mean) >= ratio * standard deviation, in exact fractions."""

    def component(column):
        exact = [Fraction(value) for value in column]
        mean = sum(exact) / len(exact)
        variance = sum((value - mean) ** 2 for value in exact) / len(exact)
        survives = mean**2 >= Fraction(ratio) ** 2 * variance and (mean != 0 or ratio == 0)
        return float(mean) * survives, survives

    gradient, mask = _by_component(g, component)
    return gradient, mask.bool()


def sand_mask(g: Tensor, threshold: str, k: float, unbiased: bool, rescale: bool = False) -> tuple[Tensor, Tensor]:
    """max(0, tanh(k / variance * (abs(mean of signs) - threshold))) times the mean; over the mean weight if rescaled."""

    def component(column):
        exact = [Fraction(value) for value in column]
        count = len(exact)
        mean = sum(exact) / count
        divisor = count - 1 if unbiased and count > 1 else count
        variance = float(sum((value - mean) ** 2 for value in exact) / divisor)
        signs = Fraction(abs(sum(value > 0 for value in exact) - sum(value < 0 for value in exact)), count)
        excess = float(signs - Fraction(threshold))
        if excess <= 0:
            return 0.0, 0.0
        return float(mean), math.tanh(k / variance * excess) if variance else 1.0

    mean, weight = _by_component(g, component)
    gradient = mean * weight
    return gradient / weight.mean() if rescale and weight.any() else gradient, weight > 0


def combine(rule: str, g: Tensor, threshold: str) -> tuple[Tensor, Tensor]:
    """(gradient, mask) of any rule by name."""
    if rule == "median sign":
        return median_sign(g, threshold)
    if rule == "signal-to-noise":
        return signal_to_noise(g, float(Fraction(threshold)))
    if rule == "sand-mask":
        return sand_mask(g, threshold, k=1.0, unbiased=False)
    if rule == "mean square":
        return (g * g).mean(0), torch.ones_like(g[0], dtype=torch.bool)
    return oracles.combine(rule, g, threshold)
