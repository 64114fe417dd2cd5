"""Curiosity on vectors: its feature spaces, and what it pays PPO."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.learners.ppo import DISCOUNT, Bonus
from mechlearn_zoo.methods.control import (
    Curiosity,
    InverseFeatures,
    Pixels,
    RandomFeatures,
    RewardScale,
    Rollout,
    VAEFeatures,
    scaled,
)


class Forward(nn.Module):
    """The next features from these and the action."""

    def __init__(self, width: int, actions: int, generator: Generator) -> None:
        super().__init__()
        self.actions, self.network = actions, relu_mlp((width + actions, 64, width), generator)

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        """Return (n, width)."""
        return self.network(torch.cat((features, one_hot(actions, self.actions).float()), -1))


def curiosity(space: str, inputs: int, actions: int, features: int, generator: Generator) -> Curiosity:
    """Return curiosity in a feature space: "pixels"; "random" features; those of "inverse" dynamics; a "vae"'s mean."""
    if space == "pixels":
        return Curiosity(Pixels(), Forward(inputs, actions, generator))
    if space == "vae":
        encoder, decoder = relu_mlp((inputs, 64, 2 * features), generator), relu_mlp((features, 64, inputs), generator)
        return Curiosity(VAEFeatures(encoder, decoder, generator), Forward(features, actions, generator))
    network = relu_mlp((inputs, 64, features), generator)
    if space == "random":
        return Curiosity(RandomFeatures(network.requires_grad_(requires_grad=False)), Forward(features, actions, generator))
    head = relu_mlp((2 * features, 64, actions), generator)
    return Curiosity(InverseFeatures(network, head), Forward(features, actions, generator))


def losses_of(curious: Curiosity, rollout: Rollout) -> Callable[[Tensor], Tensor]:
    """Return the mean loss of a forward model and its features on rows of a flat roll-out."""
    pairs, actions = torch.stack((rollout.observations[:-1], rollout.observations[1:])).flatten(1, 2), rollout.actions.flatten()
    return lambda rows: curious.losses(pairs[:, rows], actions[rows][None]).mean()


def curious(curiosity: Curiosity, envs: int) -> Bonus:
    """Return a bonus for `ppo.learn`: curiosity's, over the deviation of its discounted sums; its networks learn beside PPO.

    Args:
        curiosity: whose parameters the optimiser has, too.
        envs: how many environments are acted in.
    """
    scale = RewardScale(torch.zeros(envs))

    def bonus(rollout: Rollout) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        nonlocal scale
        paid, scale = scaled(scale, curiosity.bonus(rollout.observations, rollout.actions), DISCOUNT)
        return paid.float(), losses_of(curiosity, rollout)

    return bonus
