"""torch's fused Adam: the denominator."""

from collections.abc import Sequence

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.literal import LR
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import Method
from torch import nn


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return torch.optim.Adam(parameters, lr=LR, fused=True)


METHOD = Method("torch Adam, fused", make, note="the denominator")
