"""What an optimiser would make of a rule's gradients, were they followed: a direction of all parameters, end to end."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.params import Params

DECAYS = (0.9, 0.999)
"""Adam's, and the first of them SGD's momentum."""

TINY = 1e-8
"""Adam's epsilon."""


class Steps:
    """The steps of Adam (Kingma and Ba 2015, algorithm 1) or of SGD with momentum 0.9, over a learning rate of 1.

    Args:
        optimizer: which.
    """

    def __init__(self, optimizer: Literal["adam", "sgd"]) -> None:
        self.optimizer, self.taken = optimizer, 0
        self.first: Tensor | float = 0.0
        self.second: Tensor | float = 0.0

    def take(self, gradients: Params) -> Float[Tensor, " n"]:
        """Return the next step, (n,) over all parameters in their order."""
        gradient = torch.cat([one.flatten() for one in gradients.values()])
        self.taken += 1
        a, b = DECAYS
        if self.optimizer == "sgd":
            self.first = a * self.first + gradient
            return self.first
        self.first = a * self.first + (1 - a) * gradient
        self.second = b * self.second + (1 - b) * gradient.square()
        mean, square = self.first / (1 - a**self.taken), self.second / (1 - b**self.taken)
        return mean / (square.sqrt() + TINY)


def cosine(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """Return the cosine between two directions, 0 where one of them is nothing."""
    return float(a @ b / (a.norm() * b.norm()).clamp(min=1e-30))


def share_outside(difference: Float[Tensor, " n"], survives: Bool[Tensor, " n"]) -> float:
    """Return the share of a difference, squared, in components that do not survive; 0 of no difference."""
    squared = difference.double().square()
    return float(squared[~survives].sum() / squared.sum().clamp(min=1e-300))
