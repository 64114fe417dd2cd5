"""Returns as classes: the bin of a return's quantile, and the papers' error of a predicted bin (thesis appendix C.2.2.1)."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

BINS = 32
"""Classes that the return's quantile falls into."""


def quantiles(returns: NDArray[np.float64], training_returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return psi(return) in [0, 1] (appendix C.2.2.1): uniform on the training set, linear in between, clipped outside.

    Args:
        returns: (b,) to transform.
        training_returns: (n,) ascending. Equal ones share the mean of their ranks.
    """
    values, counts = np.unique(training_returns, return_counts=True)
    rank = np.cumsum(counts) - (counts + 1) / 2
    return np.interp(returns, values, rank / max(len(training_returns) - 1, 1))


def bin_errors(logits: Float[Tensor, "b 32"], y: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """Return the papers' error of each example: (expected bin value - true bin value)^2, bins valued by their centres."""
    centres = (torch.arange(BINS, dtype=logits.dtype, device=logits.device) + 0.5) / BINS
    return (logits.softmax(dim=1) @ centres - centres[y]).square()
