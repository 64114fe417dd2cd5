"""Random numbers of their own for every step of every trajectory, so that a batch changes no trajectory's."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Generator


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


def draw(generator: Generator | Sequence[Generator] | None, lengths: Sequence[int]) -> list[list[Draw]]:
    """Draw for every trajectory as many steps as it can have at most, one less than its length.

    Args:
        generator: one, which is read trajectory by trajectory, or one for each trajectory.
        lengths: of the trajectories.

    Raises:
        TypeError: no generator, or something else.
        ValueError: another number of generators than trajectories, or a generator that is not on the CPU.
    """
    if generator is None:
        raise TypeError(
            "`generator` should be given where matching draws random numbers: exploration above 0, or teacher forcing between "
            "0 and 1. Found None. Pass torch.Generator().manual_seed(0)."
        )
    generators = [generator] * len(lengths) if isinstance(generator, Generator) else _listed(generator)
    if len(generators) != len(lengths):
        raise ValueError(
            f"`generator` should be one, or one for each of the {len(lengths)} trajectories. Found {len(generators)}."
        )
    _check_device(generators)
    return [_draw_one(each, length - 1) for each, length in zip(generators, lengths, strict=True)]


def _listed(generator: object) -> list[Generator]:
    found: list[Any] = list(generator) if isinstance(generator, Iterable) else [generator]
    wrong = [type(each).__name__ for each in found if not isinstance(each, Generator)]
    if wrong:
        raise TypeError(
            f"`generator` should be a torch.Generator, or a list of them, one for each trajectory. Found {wrong[0]}. Pass "
            "torch.Generator().manual_seed(0)."
        )
    return found


def _draw_one(generator: Generator, steps: int) -> list[Draw]:
    # One call for each trajectory, whatever the batch: the numbers of the next begin where these end.
    return [Draw(*numbers) for numbers in torch.rand(steps, 3, dtype=torch.float64, generator=generator).tolist()]


def _check_device(generators: Sequence[Generator]) -> None:
    for generator in generators:
        if generator.device.type != "cpu":
            raise ValueError(
                "`generator` should be on the CPU, so that every device draws the same numbers. "
                f"Found one on {generator.device}. Pass torch.Generator().manual_seed(0)."
            )
