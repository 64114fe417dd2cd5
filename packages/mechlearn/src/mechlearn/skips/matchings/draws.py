"""Random numbers of their own for every step of every trajectory, so that a batch changes no trajectory's."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator

from mechlearn.skips.sampling import generators_of, stream


class Draw(NamedTuple):
    """The random numbers of one step, uniform in [0, 1).

    Attributes:
        explore: below mu the match is drawn at random (thesis algorithm 1, line 7).
        place: where in the window (line 10).
        feed: below epsilon the next input is the true frame (line 13).
    """

    explore: float
    place: float
    feed: float


def draw(
    generator: Generator | Sequence[Generator] | None, lengths: Sequence[int], streams: list[Generator] | None = None
) -> list[list[Draw]]:
    """Draw for every trajectory as many steps as it can have at most, one less than its length.

    Args:
        generator: one, which is read trajectory by trajectory, or one for each trajectory.
        lengths: of the trajectories.
        streams: a list to which a stream of its own is added for each trajectory, for feedback that samples.
    """
    found: list[list[Draw]] = []
    for each, length in zip(generators_of(generator, len(lengths)), lengths, strict=True):
        found.append(_draw_one(each, length - 1))
        if streams is not None:
            streams.append(stream(each))
    return found


def _draw_one(generator: Generator, steps: int) -> list[Draw]:
    # One call for each trajectory, whatever the batch: the numbers of the next begin where these end.
    return [Draw(*numbers) for numbers in torch.rand(steps, 3, dtype=torch.float64, generator=generator).tolist()]
