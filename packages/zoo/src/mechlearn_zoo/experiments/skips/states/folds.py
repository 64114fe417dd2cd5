"""A world of three folds: a number is folded like a tent, three times, and the way there takes a random or a regular time.

States are (y, c, z): c is the number at the start of the present fold, y has moved a share s of the way from c to its fold
1 - |1 - 2 c|, and z = (k + s) / 3 says how far all is in fold k. In the end y = c is the start folded three times, and rests.
The label is the quarter that it lies in: eight times as fine as the start, so that errors at a fold are amplified.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.trajectories import Trajectories

Timing = Literal["random", "regular"]

FRAMES = 33
"""Of a trajectory; the slowest has arrived by then."""

FOLDS = 3


def fold(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Return 1 - |1 - 2 x|."""
    return 1 - (1 - 2 * x).abs()


def generate(count: int, timing: Timing, generator: Generator) -> Trajectories:
    """Draw trajectories of `FRAMES` states.

    Args:
        count: of trajectories.
        timing: whether each fold takes 2 to 10 frames, each equally probable, or 8.
        generator: of starts and times.
    """
    start = torch.rand(count, generator=generator)
    times = torch.randint(2, 11, (count, FOLDS), generator=generator)
    if timing == "regular":
        times = torch.full_like(times, 8)
    ends = times.cumsum(1)
    t = torch.arange(FRAMES)
    k = (t[None, :, None] >= ends[:, None]).sum(2)  # which fold each frame is in; FOLDS at rest
    values = torch.stack([start, fold(start), fold(fold(start)), fold(fold(fold(start)))], dim=1)
    began = torch.cat([torch.zeros(count, 1, dtype=ends.dtype), ends], dim=1).gather(1, k)
    took = torch.cat([times, torch.ones(count, 1, dtype=times.dtype)], dim=1).gather(1, k)
    share = torch.where(k == FOLDS, 0.0, (t - began) / took)
    c = values.gather(1, k)
    y = c + share * (values.gather(1, (k + 1).clamp(max=FOLDS)) - c)
    return Trajectories(torch.stack([y, c, (k + share) / FOLDS], dim=2), torch.full((count,), FRAMES))


def quarter(states: Float[Tensor, "length 3"]) -> int:
    """Read the label off the last state."""
    return int((states[-1, 0] * 4).floor().clamp(0, 3))
