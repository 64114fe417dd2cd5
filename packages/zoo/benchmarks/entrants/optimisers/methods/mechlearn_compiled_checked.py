"""TemporalAndMaskAdam, one call of a kernel in C, with its check for NaN and infinity, which torch's optimisers do not make."""

from collections.abc import Sequence

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.literal import BETAS, DECAY, EPS, LR, THRESHOLD
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import Method
from torch import nn

from mechlearn.agreement import AdamForm, TemporalAndMaskAdam


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return TemporalAndMaskAdam(parameters, LR, BETAS, THRESHOLD, DECAY, form=AdamForm(EPS), implementation="compiled")


METHOD = Method(
    "mechlearn, compiled and checked", make, package="mechlearn", note="refuses NaN and infinite gradients, the default"
)
