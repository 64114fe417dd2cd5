"""What a share of a budget of evaluations makes of matching and of the learning rate, where methods may spend equally many.

Counted in evaluations, as steps differ: what skips spends fewer of them on an episode, and sees more episodes.
"""

import torch
from torch import Tensor, nn

from craik.skips import Fixed, Greedy, Matching
from craik.skips.matchings.greedy import Ties


def matching_at(method: str, share: float, horizon: int, exploration: float, ties: Ties = "first") -> Matching:
    """Return how predictions are matched after a share of the budget.

    Args:
        method: "fixed-3" for steps of 3; anything else is ASI.
        share: spent so far.
        horizon: H of ASI.
        exploration: share of the budget in which ASI's exploration falls from 1 to 0; 0 for none.
        ties: which of equally good frames ASI takes.
    """
    if method.startswith("fixed-"):
        return Fixed(int(method.removeprefix("fixed-")))
    return Greedy(horizon, falling(share, exploration), ties=ties)


def falling(share: float, until: float) -> float:
    """Return a probability that falls from 1 in a straight line to 0, which it reaches after a share of the budget."""
    return max(0.0, 1 - share / until) if until > 0 else 0.0


def rate_at(learning_rate: float, share: float) -> float:
    """Return a learning rate that falls linearly to a fiftieth over the last three tenths of the budget."""
    return learning_rate * max(0.02, min(1.0, (1 - share) / 0.3))


def descend(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take one step down a loss, along a gradient of norm 1 at most."""
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
