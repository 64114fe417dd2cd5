"""Random walks on the plane, as trajectories."""

import torch

from mechlearn.trajectories import Trajectories


def walks(lengths, seed=0):
    """One of each length, in float64."""
    g = torch.Generator().manual_seed(seed)
    return Trajectories.from_list([torch.randn(n, 2, generator=g, dtype=torch.float64).cumsum(0) / 2 for n in lengths])
