"""What training loops look at: how often a model is right, and how large it is."""

import torch
from jaxtyping import Int
from torch import Tensor, nn


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Int[Tensor, " n"]) -> float:
    """Return the share of rows of which a model's largest logit is the label's."""
    return float((model(x).argmax(1) == y).float().mean())


def parameters(model: nn.Module) -> int:
    """Return how many numbers a model has to learn."""
    return sum(parameter.numel() for parameter in model.parameters())
