"""What the experiments with bonuses share: a policy and a critic on vectors, and PPO's update as in the published code."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.methods.control import Rollout, gae

DISCOUNT, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.001
PASSES, PARTS = 3, 8
"""Over a roll-out, and how many parts a pass has."""


class Walker(nn.Module):
    """Policy and critic, two layers of 64 units each."""

    def __init__(self, inputs: int, actions: int, generator: Generator) -> None:
        super().__init__()
        self.policy, self.critic = (relu_mlp((inputs, 64, 64, outputs), generator) for outputs in (actions, 1))

    def log_probabilities(self, observations: Tensor) -> Tensor:
        """Return (*n, A)."""
        return self.policy(observations).log_softmax(-1)

    @torch.no_grad()
    def act(self, observations: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Sample actions (B,) with their log-probabilities."""
        logs = self.log_probabilities(observations)
        actions = torch.multinomial(logs.exp(), 1, generator=generator)
        return actions[:, 0], logs.gather(1, actions)[:, 0]


def loss(model: Walker, rollout: Rollout, advantages: Tensor, targets: Tensor, rows: Tensor) -> Tensor:
    """Return PPO's loss on some steps, with clipped ratios; flat arrays."""
    observations, actions = rollout.observations[:-1].flatten(0, 1)[rows], rollout.actions.flatten()[rows]
    logs = model.log_probabilities(observations)
    ratio = (logs.gather(1, actions[:, None])[:, 0] - rollout.log_mu.flatten()[rows]).exp()
    paid = torch.minimum(ratio * advantages[rows], ratio.clamp(1 - CLIP, 1 + CLIP) * advantages[rows])
    entropy = -(logs.exp() * logs).sum(-1)
    errors = model.critic(observations)[:, 0] - targets[rows]
    return -paid.mean() - ENTROPY * entropy.mean() + 0.5 * errors.square().mean()


def update(
    model: Walker,
    optimizer: torch.optim.Optimizer,
    rollout: Rollout,
    paid: Tensor,
    generator: Generator,
    beside: Callable[[Tensor], Tensor] | None = None,
) -> None:
    """Take PASSES over a roll-out with these rewards (T, B) in PARTS each; the last observation is bootstrapped.

    What else learns from the same parts adds its loss on rows of the flat roll-out with ``beside``.
    """
    with torch.no_grad():
        values = model.critic(rollout.observations)[..., 0]
        ends = rollout.final_observations
        final = None if ends is None else model.critic(ends)[..., 0]
    advantages = gae(replace(rollout, rewards=paid), values, DISCOUNT, LAMBDA, final)
    targets = (advantages + values[:-1]).flatten()
    flat = ((advantages - advantages.mean()) / (advantages.std() + 1e-8)).flatten()
    for _ in range(PASSES):
        for rows in torch.randperm(len(flat), generator=generator).chunk(PARTS):
            optimizer.zero_grad()
            own = loss(model, rollout, flat, targets, rows)
            (own if beside is None else own + beside(rows)).backward()
            optimizer.step()
