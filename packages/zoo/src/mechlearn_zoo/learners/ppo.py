"""PPO (Schulman et al. 2017) on rewards or on a bonus alone: a policy and a critic on vectors, and an update per roll-out.

for rollout in learn(envs, model, optimizer, 128, generator, curious(curiosity("random", 4, 2, 64, generator), 8)):
print(rollout.rewards.sum())
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control import Rollout, Worlds, collect, gae

DISCOUNT, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.001
PASSES, PARTS = 3, 8
"""Over a roll-out, and how many parts a pass has."""

Bonus = Callable[[Rollout], tuple[Tensor, Callable[[Tensor], Tensor] | None]]
"""From a roll-out to what is paid in place of its rewards, (T, B), and to a loss of what makes the bonus on rows of the flat
roll-out, None for none."""


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
            own = loss(model, rollout, flat, targets, rows)
            descend(optimizer, own if beside is None else own + beside(rows))


def learn(
    envs: Worlds, model: Walker, optimizer: torch.optim.Optimizer, steps: int, generator: Generator, bonus: Bonus | None = None
) -> Iterator[Rollout]:
    """Act and learn without end; yield each roll-out when it was learned from.

    Args:
        envs: gymnasium's vector environments with `AutoresetMode.SAME_STEP`, or tasks of the zoo; observations are vectors.
        model: policy and critic.
        optimizer: of both, and of what the bonus trains.
        steps: of a roll-out in every environment.
        generator: of actions and of the order of steps.
        bonus: what is paid; None for the environments' rewards.

    Raises:
        ValueError: if a bonus is not finite, or has another shape than the rewards.
    """
    start = None
    while True:
        rollout = collect(envs, model.act, steps, generator, start)
        start = rollout.observations[-1]
        paid, beside = (rollout.rewards, None) if bonus is None else bonus(rollout)
        update(model, optimizer, rollout, paid, generator, beside)
        yield rollout


def endless(rollout: Rollout) -> Rollout:
    """Return a roll-out that tells of no ends: no value is cut where an episode is over."""
    none = torch.zeros_like(rollout.terminated)
    return replace(rollout, terminated=none, truncated=none, final_observations=None)
