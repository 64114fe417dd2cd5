"""What an arm sees of a demonstration, and the flat network that attention is compared with."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.control.one_shot_towers.towers import Demonstrations
from mechlearn_zoo.methods.control.one_shot import OneShot, temporal_dropout


class Shown(NamedTuple):
    """A network's input: (B, L, n, 3) frames, (B, L) which there are, (B, n, 3) the state, (B, n) which blocks there are."""

    frames: Tensor
    present: Tensor
    state: Tensor
    blocks: Tensor


class FlatNetwork(nn.Module):
    """A perceptron on all numbers side by side: frames (zeros where none), which there are, and the state."""

    def __init__(self, blocks: int, longest: int, generator: Generator) -> None:
        super().__init__()
        self.longest = longest
        self.net = mlp(longest * blocks * 3 + longest + blocks * 3, blocks * blocks, generator, 256, 2)

    def forward(self, frames: Tensor, present: Tensor, state: Tensor, blocks: Tensor) -> Tensor:
        """Return (B, n, n) logits."""
        more = self.longest - frames.shape[1]
        frames = torch.nn.functional.pad(frames * present[..., None, None], (0, 0, 0, 0, 0, more))
        x = torch.cat([frames.flatten(1), torch.nn.functional.pad(present, (0, more)).float(), state.flatten(1)], 1)
        itself = torch.eye(blocks.shape[1], dtype=torch.bool)
        return self.net(x).view(-1, *itself.shape).masked_fill(itself, -torch.inf)


Network = OneShot | FlatNetwork
"""What is trained."""


def see(arm: str, shown: Demonstrations, state: Tensor, thinning: tuple[int, float, float], generator: Generator) -> Shown:
    """Return an arm's input: copies of frames, some dropped, noise on all positions.

    Args:
        arm: "snapshot" sees the last frame only, "blind" the current state in place of a demonstration, others what is kept.
        shown: the demonstrations.
        state: (B, n, 3) positions now.
        thinning: copies of each frame, probability that one is kept, standard deviation of the noise.
        generator: of what is kept and of the noise.
    """
    copies, keep, noise = thinning

    def noisy(x: Tensor) -> Tensor:
        return x + noise * torch.randn(x.shape, generator=generator)

    blocks = torch.ones(state.shape[:2], dtype=torch.bool)
    if arm == "blind":
        return Shown(noisy(state).unsqueeze(1), torch.ones(len(state), 1, dtype=torch.bool), noisy(state), blocks)
    if arm == "snapshot":
        last = shown.frames[torch.arange(len(state)), shown.present.sum(1) - 1]
        return Shown(noisy(last).unsqueeze(1), torch.ones(len(state), 1, dtype=torch.bool), noisy(state), blocks)
    frames, present = (part.repeat_interleave(copies, 1) for part in (shown.frames, shown.present))
    return Shown(noisy(frames), temporal_dropout(present, keep, generator), noisy(state), blocks)
