"""What a share of a budget of evaluations makes of matching and of the learning rate, where methods may spend equally many.

Counted in evaluations, as steps differ: what skips spends fewer of them on an episode, and sees more episodes.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from mechlearn.skips import Fixed, Greedy, Matching
from mechlearn.skips.matchings.greedy import Ties


@dataclass
class Spending:
    """What a training has spent of its budget of evaluations, in batches of as many episodes as a step may cost.

    Attributes:
        budget: evaluations that the training may take; its last step may go beyond.
        evaluations: of a gradient step, on average.
        guess: evaluations that an episode takes, until one was seen.
        spent: evaluations so far.
        seen: episodes that they went into.
        steps: so far.
    """

    budget: int
    evaluations: int
    guess: float
    spent: int = 0
    seen: int = 0
    steps: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether any is left."""
        return self.spent < self.budget

    @property
    def share(self) -> float:
        """Of the budget, spent so far."""
        return self.spent / self.budget

    def draw(self, episodes: int, generator: Generator) -> Tensor:
        """Return random rows of so many episodes: a batch that costs a step's evaluations, if they cost what others did."""
        each = self.spent / self.seen if self.seen else self.guess
        return torch.randperm(episodes, generator=generator)[: max(1, min(round(self.evaluations / each), episodes))]

    def add(self, evaluations: int, rows: Tensor) -> None:
        """Count a step and what it took."""
        self.spent, self.seen, self.steps = self.spent + evaluations, self.seen + len(rows), self.steps + 1


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
