"""One linear layer, numbers to call it with, and two ways to group eight examples into four environments."""

import torch
from torch import nn

B = 8
TWINS = torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])
PAIRED, SPREAD = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3]
"""Twins inside environments, and across them."""


def linear(d=6, out=6):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Linear(d, out).double()


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Doubled(torch.autograd.Function):
    """An operation that is not known: its backward pass is the user's."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient
