"""The model of a push: place codes and what is known of the pushes to the next codes and one number beside."""

from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.skips.options.ice import PUSHES

Beside = Literal["ended", "clock"]
"""Whether the number is the probability that the option has ended, or how many frames were skipped."""


class Pushed(nn.Module):
    """From codes and pushes to logits of the next codes, and to whether the option has ended or how many frames later that is.

    Args:
        codes: of a frame.
        pushes: how many pushes are given: 0 for a model of one option, 1 for that which acts, H for those to come.
        beside: which number.
        generator: of the initial weights.
        hidden: units in each of the two hidden layers.
        gain: what of the input is added to the logits, gain * (x - 1/2).
    """

    def __init__(self, codes: int, pushes: int, beside: Beside, generator: Generator, hidden: int, gain: float) -> None:
        super().__init__()
        self.gain, self.beside, self.pushes = gain, beside, pushes
        self.net = mlp(codes + pushes * len(PUSHES), codes + 1, generator, hidden, 2, init="default")

    def forward(
        self, frames: Float[Tensor, "n codes"], given: Shaped[Tensor, "n *pushes"] | None = None
    ) -> tuple[Float[Tensor, "n codes"], Float[Tensor, " n"]]:
        """Return logits and the number.

        Args:
            frames: place codes.
            given: ids of options (n,), or pushes (n, H, 4), one-hot, zeros where there are none any more.
        """
        seen = frames
        if given is not None:
            known = given if given.is_floating_point() else one_hot(given.long(), len(PUSHES))
            seen = torch.cat([frames, known.to(frames.dtype).flatten(1)], dim=1)
        out = self.net(seen)
        number = out[:, -1].sigmoid() if self.beside == "ended" else 1 + out[:, -1].abs()
        return out[:, :-1] + self.gain * (frames - 0.5), number
