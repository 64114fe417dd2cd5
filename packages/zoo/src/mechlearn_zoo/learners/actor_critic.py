"""The actor-critic that IMPALA and PopArt train: a torso, action logits and a value per task."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.methods.control import PopArtLinear


class ActorCritic(nn.Module):
    """Logits and normalised values on one torso; the policy is not told which task it is in, the critic has a head for each.

    Args:
        shape: of an observation.
        actions: how many there are.
        tasks: how many heads the critic has.
        hidden: units of the torso.
        generator: of the initial weights.
    """

    def __init__(self, shape: tuple[int, ...], actions: int, tasks: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.pictures = len(shape) == 3
        if self.pictures:
            self.torso = _atari_torso(shape, hidden, generator)
        else:
            inputs = int(torch.tensor(shape).prod())
            self.torso = nn.Sequential(nn.Flatten(), linear(inputs, hidden, "kaiming", generator), nn.ReLU())
        self.policy = linear(hidden, actions, "default", generator)
        with torch.no_grad():
            self.policy.weight.mul_(0.1)  # nearly uniform at first
        self.value = PopArtLinear(hidden, tasks, generator)

    def features(self, observations: Tensor) -> Tensor:
        """Return the torso's output (*n, hidden) for observations (*n, *shape); bytes are scaled to [0, 1]."""
        lead = observations.shape[: observations.dim() - (3 if self.pictures else 2)]
        flat = observations.flatten(0, len(lead) - 1)
        return self.torso(flat / 255 if flat.dtype == torch.uint8 else flat).unflatten(0, lead)

    def act(self, observations: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Sample actions (B,) with their log-probabilities."""
        log_probabilities = self.policy(self.features(observations)).log_softmax(-1)
        actions = torch.multinomial(log_probabilities.exp(), 1, generator=generator)
        return actions[:, 0], log_probabilities.gather(-1, actions)[:, 0]


def _atari_torso(shape: tuple[int, ...], hidden: int, generator: Generator) -> nn.Sequential:
    """Return the shallow network of IMPALA: 16 filters of 8x8, stride 4, then 32 of 4x4, stride 2."""
    layers: list[nn.Module] = []
    for inputs, outputs, size, stride in ((shape[0], 16, 8, 4), (16, 32, 4, 2)):
        layer = nn.Conv2d(inputs, outputs, size, stride, device="meta").to_empty(device="cpu")
        nn.init.kaiming_normal_(layer.weight, generator=generator)
        nn.init.zeros_(layer.bias if layer.bias is not None else torch.zeros(1))
        layers += [layer, nn.ReLU()]
    side = ((shape[1] - 8) // 4 + 1 - 4) // 2 + 1
    return nn.Sequential(*layers, nn.Flatten(), linear(32 * side * side, hidden, "kaiming", generator), nn.ReLU())


def entropy(log_probabilities: Tensor) -> Tensor:
    """Return the entropy (*n,) of distributions given as logarithms (*n, A)."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


def falling(rate: float, steps: int) -> Callable[[int], float]:
    """Return a learning rate that falls linearly to 0, as IMPALA's does."""
    return lambda step: rate * (1 - step / steps)
