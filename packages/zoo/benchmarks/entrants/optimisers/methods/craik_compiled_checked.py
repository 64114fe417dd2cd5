"""TemporalAndMaskAdam, one call of a kernel in C, with its check for NaN and infinity, which torch's optimisers do not make."""

from collections.abc import Sequence

import torch
from craik_benchmarks.entrants.optimisers.literal import BETAS, DECAY, EPS, LR, THRESHOLD
from craik_benchmarks.entrants.optimisers.methods import Method
from torch import nn

from craik.agreement import AdamForm, TemporalAndMaskAdam


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return TemporalAndMaskAdam(parameters, LR, BETAS, THRESHOLD, DECAY, form=AdamForm(EPS), implementation="compiled")


METHOD = Method("craik, compiled and checked", make, package="craik", note="refuses NaN and infinite gradients, the default")
