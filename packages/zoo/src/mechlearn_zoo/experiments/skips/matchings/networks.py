"""Networks of the arms: logits of codes, numbers that are added to what is seen, means with variances, one with a memory."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from mechlearn.nn.perceptrons import linear, mlp
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.frames.funnel_board.places import Reader

_LOG_VARIANCES = (-6.0, 2.0)
"""Least and greatest logarithm of a predicted variance; without a least one still codes would outweigh the ball."""


class Shifting(nn.Module):
    """From numbers to the next ones: a perceptron says what is added; with variances, also their logarithms."""

    def __init__(self, numbers: int, beside: int, generator: Generator, hidden: int, variances: bool = False) -> None:
        super().__init__()
        self.numbers, self.variances = numbers, variances
        self.net = mlp(numbers + beside, numbers * (1 + variances), generator, hidden, 2, init="default")

    def forward(self, frames: Float[Tensor, "b numbers"], beside: Float[Tensor, "b beside"]) -> Tensor:
        """Return the next numbers (b, numbers), or their means and log-variances (b, 2, numbers)."""
        out = self.net(torch.cat([frames, beside], dim=1))
        means = frames + out[:, : self.numbers]
        return torch.stack([means, out[:, self.numbers :].clamp(*_LOG_VARIANCES)], dim=1) if self.variances else means


class Remembering(nn.Module):
    """From codes, what stands beside them and a state to logits of the next codes and the next state."""

    def __init__(self, codes: int, beside: int, generator: Generator, hidden: int, gain: float, units: int) -> None:
        super().__init__()
        self.gain = gain
        self.remember = linear(codes + beside + units, units, "default", generator)
        self.net = mlp(codes + beside + units, codes, generator, hidden, 2, init="default")

    def forward(
        self, frames: Float[Tensor, "b codes"], beside: Float[Tensor, "b beside"], state: Float[Tensor, "b units"]
    ) -> tuple[Float[Tensor, "b codes"], Float[Tensor, "b units"]]:
        """Return logits and state."""
        state = self.remember(torch.cat([frames, beside, state], dim=1)).tanh()
        return self.net(torch.cat([frames, beside, state], dim=1)) + self.gain * (frames - 0.5), state


class Latents(NamedTuple):
    """The first principal components of frames: an encoder that is not trained, and its inverse as far as there is one."""

    mean: Float[Tensor, " codes"]
    axes: Float[Tensor, "codes latents"]

    @classmethod
    def of(cls, frames: Float[Tensor, "n codes"], count: int) -> "Latents":
        """Return those of some frames."""
        mean = frames.mean(0)
        _, _, axes = torch.linalg.svd(frames - mean, full_matrices=False)
        return cls(mean, axes[:count].T.contiguous())

    def encode(self, frames: Float[Tensor, "n codes"]) -> Float[Tensor, "n latents"]:
        """Return frames' coordinates."""
        return (frames - self.mean) @ self.axes

    def decode(self, latents: Float[Tensor, "n latents"]) -> Float[Tensor, "n codes"]:
        """Return frames."""
        return latents @ self.axes.T + self.mean


class LearntReader(NamedTuple):
    """psi as a network: 0 for a ball that has not landed, 1 + platform for one that has."""

    net: nn.Module
    codes: int

    def read(self, frames: Float[Tensor, "n codes"]) -> Tensor:
        """Return what each frame shows."""
        with torch.no_grad():
            return self.net(frames).argmax(1)

    def landed(self, frames: Float[Tensor, "n codes"]) -> Tensor:
        """Say which frames show an outcome."""
        return self.read(frames) > 0

    def platform(self, frames: Float[Tensor, "n codes"]) -> Tensor:
        """Return the platform that a frame shows, -1 for none."""
        return self.read(frames) - 1


def learnt_reader(
    frames: Float[Tensor, "n codes"], outcomes: Tensor, reads: Reader, steps: int, generator: Generator
) -> LearntReader:
    """Train a reader on true frames, as many with an outcome as without in each batch.

    Args:
        frames: of true episodes.
        outcomes: of each frame's episode.
        reads: says which of them show it.
        steps: of Adam, 64 frames each.
        generator: of weights and batches.
    """
    landed = reads.landed(frames)
    wanted = torch.where(landed, outcomes + 1, 0)
    groups = [landed.nonzero()[:, 0], (~landed).nonzero()[:, 0]]
    net = mlp(frames.shape[1], reads.platforms + 1, generator, 64, 1, init="default")
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(steps):
        rows = torch.cat([group[torch.randint(len(group), (32,), generator=generator)] for group in groups])
        descend(optimizer, cross_entropy(net(frames[rows]), wanted[rows]), clip=1.0)
    return LearntReader(net, frames.shape[1])
