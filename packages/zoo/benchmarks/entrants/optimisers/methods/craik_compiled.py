"""TemporalAndMaskAdam, one call of a kernel in C."""

from collections.abc import Sequence

import torch
from craik_benchmarks.entrants.optimisers.literal import BETAS, DECAY, EPS, LR, THRESHOLD
from craik_benchmarks.entrants.optimisers.methods import Method
from torch import nn

from craik.agreement import AdamForm, TemporalAndMaskAdam


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return TemporalAndMaskAdam(
        parameters, LR, BETAS, THRESHOLD, DECAY, form=AdamForm(EPS), implementation="compiled", refuse_nonfinite=False
    )


METHOD = Method("craik, compiled", make, package="craik")
