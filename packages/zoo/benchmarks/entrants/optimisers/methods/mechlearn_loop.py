"""TemporalAndMaskAdam, one tensor after the other."""

from collections.abc import Sequence

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.literal import BETAS, DECAY, EPS, LR, THRESHOLD
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import Method
from torch import nn

from mechlearn.agreement import AdamForm, TemporalAndMaskAdam


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    return TemporalAndMaskAdam(
        parameters, LR, BETAS, THRESHOLD, DECAY, form=AdamForm(EPS), implementation="loop", refuse_nonfinite=False
    )


METHOD = Method("mechlearn, loop", make, package="mechlearn")
