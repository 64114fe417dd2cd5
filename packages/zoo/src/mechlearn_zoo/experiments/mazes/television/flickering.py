"""A television that goes dark between two pictures: what is random there passes; in `television` it stays."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator
from mechlearn_zoo.experiments.mazes.television.television import PRESS, Television, Watching

DARK = 0
"""The picture that is shown at first, and again after each other one."""


@dataclass(frozen=True, eq=False)
class Flickering(Television):
    """A press on a dark set shows one of the other pictures, evenly; with the next step, whatever it is, the set is dark again.

    Raises:
        ValueError: fewer than two pictures.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.pictures) < 2:
            raise ValueError(f"`pictures` should have a dark one and another at least. Found {len(self.pictures)}.")

    def step(self, state: Watching, actions: Int[Tensor, " n"], generator: Generator) -> Watching:
        """Move, or press."""
        check_generator("generator", generator)
        pressed = actions == PRESS
        cells = torch.where(pressed, state.cells, self.grid.next[state.cells, actions.clamp(max=PRESS - 1)])
        drawn = torch.randint(1, len(self.pictures), state.pictures.shape, generator=generator)
        lit = pressed & (state.pictures == DARK)
        return Watching(cells, torch.where(lit, drawn, DARK) if self.on else state.pictures)
