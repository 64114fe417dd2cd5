"""What training loops look at: how often a model is right, how large it is, and how much of it a rule let through."""

from collections.abc import Mapping

import torch
from jaxtyping import Int
from torch import Tensor, nn


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Int[Tensor, " n"]) -> float:
    """Return the share of rows of which a model's largest logit is the label's."""
    return float((model(x).argmax(1) == y).float().mean())


def survivors(shares: Mapping[str, float], model: nn.Module) -> float:
    """Return the share of all components that a rule let through, from those of some parameters; see `Record`."""
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    return sum(share * sizes[name] for name, share in shares.items()) / sum(sizes[name] for name in shares)


def parameters(model: nn.Module) -> int:
    """Return how many numbers a model has to learn."""
    return sum(parameter.numel() for parameter in model.parameters())
