"""Double Q-learning (van Hasselt et al. 2016) from all transitions so far.

    learner = QLearner((4, 64, 64, 2), generator)
    learner.learn(states, actions, rewards, following, ended, 100)
    action = learner.act(state)

The transitions are the caller's to keep: (n, s) states, (n,) actions, rewards and ends.
"""

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn.functional import smooth_l1_loss

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.learners.descent import descend

BATCH, RATE, DISCOUNT, SHARE = 256, 1e-3, 0.99, 0.01
"""Transitions of an update, Adam's learning rate, gamma, and how far the slow copy follows in an update."""


class QLearner:
    """Values of actions; the network chooses the best next action, and a slow copy of it says what that is worth.

    Args:
        widths: of its layers, from the numbers of a state to that of actions.
        generator: of weights, actions and batches.
    """

    def __init__(self, widths: tuple[int, ...], generator: Generator) -> None:
        self.actions, self.generator = widths[-1], generator
        self.values, self.slow = (relu_mlp(widths, generator) for _ in range(2))
        self.slow.load_state_dict(self.values.state_dict())
        self.optimizer = torch.optim.Adam(self.values.parameters(), lr=RATE)

    def act(self, state: Float[Tensor, " s"], exploring: float = 0.1) -> int:
        """Return the best action, or any in a share of the steps."""
        if torch.rand((), generator=self.generator) < exploring:
            return int(torch.randint(self.actions, (), generator=self.generator))
        return int(self.values(state).argmax())

    def learn(
        self, states: Float[Tensor, "n s"], actions: Int[Tensor, " n"], rewards: Float[Tensor, " n"],
        following: Float[Tensor, "n s"], ended: Tensor, updates: int,
    ) -> None:  # fmt: skip
        """Take updates on batches of transitions; nothing follows where `ended` is 1."""
        for _ in range(updates):
            rows = torch.randint(len(rewards), (BATCH,), generator=self.generator)
            after, lasting = following[rows], 1 - ended[rows]
            with torch.no_grad():
                ahead = self.slow(after).gather(1, self.values(after).argmax(1, keepdim=True))[:, 0]
            taken = self.values(states[rows]).gather(1, actions[rows, None])[:, 0]
            descend(self.optimizer, smooth_l1_loss(taken, rewards[rows] + DISCOUNT * lasting * ahead))
            with torch.no_grad():
                for slow, fast in zip(self.slow.parameters(), self.values.parameters(), strict=True):
                    slow.lerp_(fast, SHARE)
