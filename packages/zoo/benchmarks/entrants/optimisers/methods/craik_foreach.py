"""TemporalAndMaskAdam, many tensors by few calls."""

from collections.abc import Sequence

import torch
from craik_benchmarks.entrants.optimisers.literal import BETAS, DECAY, EPS, LR, THRESHOLD
from craik_benchmarks.entrants.optimisers.methods import Method
from torch import nn

from craik.agreement import AdamForm, TemporalAndMaskAdam


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return TemporalAndMaskAdam(parameters, LR, BETAS, THRESHOLD, DECAY, form=AdamForm(EPS), refuse_nonfinite=False)


METHOD = Method("craik, foreach", make, package="craik")
