"""TemporalAndMaskAdam, one call of a kernel in C."""

from collections.abc import Sequence

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.literal import BETAS, DECAY, EPS, LR, THRESHOLD
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import Method
from torch import nn

from mechlearn.agreement import AdamForm, TemporalAndMaskAdam


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return TemporalAndMaskAdam(
        parameters, LR, BETAS, THRESHOLD, DECAY, form=AdamForm(EPS), implementation="compiled", refuse_nonfinite=False
    )


METHOD = Method("mechlearn, compiled", make, package="mechlearn")
