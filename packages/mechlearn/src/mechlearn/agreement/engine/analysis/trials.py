"""Operations that say nothing of what they do, but are linear maps: whose each slice is, is found by applying them."""

import math
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.owners import Array, Batch, Known, Lost, Own, Shape

CHANGED_VIEW = "torch::autograd::CopySlices"
"""What torch puts where a part of a tensor was changed in place; it hides which part, and by what."""


def tried(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Apply a map to random numbers where a binary digit of the environment's position is 1, and where it is 0.

    What only one of the two reaches has that digit. Where both reach, environments meet, as they differ in some digit. Random
    numbers do not cancel, and so one application stands for all gradients.
    """
    like = node._input_metadata[0]  # pyright: ignore
    if like.dtype not in (torch.float32, torch.float64):
        return Lost(f"{node.name()} is tried in float32 and float64 alone")
    owners = batch.array(own, len(out))
    if not math.prod(into) or not (owners >= 0).any():
        return np.full((1,) * len(into), -1)
    numbers = torch.rand(out, dtype=like.dtype, generator=torch.Generator().manual_seed(0)).add_(0.5).to(like.device)

    def reached(where: Array) -> Tensor | None:
        found = node(torch.from_numpy(where).to(like.device) * numbers)  # pyright: ignore
        one: Tensor | None = found[slot] if isinstance(found, tuple) else found  # pyright: ignore
        return None if one is None else one.sum_to_size(into)  # as the engine does for what was broadcast

    whole = reached(owners >= 0)
    if whole is None:
        return np.full((1,) * len(into), -1)
    found = torch.full(into, -1, dtype=torch.int32, device=whole.device)
    for digit in range(max(1, int(owners.max()).bit_length())):
        zero, one = (cast("Tensor", reached((owners >= 0) & ((owners >> digit) & 1 == value))) for value in (0, 1))
        without, with_it = zero != 0, one != 0
        if (without & with_it).any():
            return Lost(f"examples of different environments meet at {node.name()}")
        if not digit:
            if (zero + one - whole).abs().max() > 1e-3 * whole.abs().max():  # what a user has written may be none
                return Lost(f"{node.name()} is no linear map")
            found.masked_fill_(without | with_it, 0)
        found.add_(with_it, alpha=1 << digit)
    return batch.tidy(found.numpy(force=True))
