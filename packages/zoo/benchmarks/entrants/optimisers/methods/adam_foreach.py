"""torch's Adam, foreach."""

from collections.abc import Sequence

import torch
from craik_benchmarks.entrants.optimisers.literal import LR
from craik_benchmarks.entrants.optimisers.methods import Method
from torch import nn


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return torch.optim.Adam(parameters, lr=LR, foreach=True)


METHOD = Method("torch Adam, foreach", make)
