"""A maze with a television: walls of different textures, and a set that shows another random picture at every press.

Index conventions: s a cell of the maze, k a picture. The last action, after the four moves, presses the button and stays. An
observation is the texture of the cell and of its four neighbours (walls have one, too) and the picture that is shown.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_flag, check_generator, check_whole
from mechlearn_zoo.tasks.finite.grids import MOVES, Grid

PRESS = 4
"""The action that changes the picture."""


class Watching(NamedTuple):
    """Where n walkers stand, and which picture each one's set shows: (n,) both."""

    cells: Int[Tensor, " n"]
    pictures: Int[Tensor, " n"]


@dataclass(frozen=True, eq=False)
class Television:
    """Many walkers in one maze, each with a set of its own. Nothing ends, nothing is paid.

    Args:
        grid: without staying.
        textures: (h, w, d) what each cell looks like, walls included.
        pictures: (K, d) what the set may show; picture 0 is shown at first.
        on: whether pressing changes the picture; if not, it does nothing.

    Raises:
        TypeError: ``on`` is no flag.
        ValueError: sizes that do not fit, or a grid with staying as an action.
    """

    grid: Grid
    textures: Float[Tensor, "h w d"]
    pictures: Float[Tensor, "K d"]
    on: bool = True

    def __post_init__(self) -> None:
        check_flag("on", self.on)
        if self.grid.stay:
            raise ValueError("`grid` should have the four moves only: the fifth action presses. Found one with staying.")
        if self.textures.shape[:2] != self.grid.free.shape or self.textures.shape[-1:] != self.pictures.shape[-1:]:
            found = f"{tuple(self.textures.shape)} and {tuple(self.pictures.shape)}"
            raise ValueError(f"`textures` should have the grid's shape, and `pictures` as many numbers each. Found {found}.")

    @property
    def actions(self) -> int:
        """Return the four moves and the press."""
        return PRESS + 1

    @property
    def size(self) -> int:
        """Return how many numbers an observation has: five textures and a picture."""
        return 6 * self.textures.shape[-1]

    def begin(self, n: int, cell: int = 0) -> Watching:
        """Return n walkers at one cell in front of picture 0."""
        check_whole("n", n, 1)
        return Watching(torch.full((n,), cell), torch.zeros(n, dtype=torch.long))

    def step(self, state: Watching, actions: Int[Tensor, " n"], generator: Generator) -> Watching:
        """Move, or press; every press draws a picture evenly from all."""
        check_generator("generator", generator)
        pressed = actions == PRESS
        cells = torch.where(pressed, state.cells, self.grid.next[state.cells, actions.clamp(max=PRESS - 1)])
        drawn = torch.randint(len(self.pictures), state.pictures.shape, generator=generator)
        return Watching(cells, torch.where(pressed, drawn, state.pictures) if self.on else state.pictures)

    def observe(self, state: Watching) -> Float[Tensor, "n x"]:
        """Return the textures around each walker, above, below, left, right and under, then the picture."""
        around = self.grid.cells[state.cells][:, None] + torch.tensor(MOVES)
        height, width = self.grid.free.shape
        rows, columns = around[..., 0].clamp(0, height - 1), around[..., 1].clamp(0, width - 1)
        return torch.cat([self.textures[rows, columns].flatten(1), self.pictures[state.pictures]], dim=1)


def television(grid: Grid, generator: Generator, pictures: int = 30, numbers: int = 8, on: bool = True) -> Television:
    """Return a set in a maze, textures and pictures of standard normal numbers.

    Args:
        grid: the maze, see `mechlearn_zoo.tasks.finite.mazes.maze`.
        generator: of textures and pictures.
        pictures: K, how many there are.
        numbers: d, of each texture and picture.
        on: see `Television`.
    """
    check_generator("generator", generator)
    check_whole("pictures", pictures, 1)
    check_whole("numbers", numbers, 1)
    textures = torch.randn(*grid.free.shape, numbers, generator=generator)
    return Television(grid, textures, torch.randn(pictures, numbers, generator=generator), on)
