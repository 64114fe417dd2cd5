"""A maze with pits beside its ways: who steps into one is back where episodes begin, and nothing says that anything ended."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_shape, check_share
from mechlearn_zoo.experiments.mazes.television.television import PRESS, Television, Watching
from mechlearn_zoo.tasks.finite.grids import Grid


@dataclass(frozen=True, eq=False)
class Pitfalls(Television):
    """A maze with a set in which some cells are pits.

    Args:
        pits: (S,) which cells; not the first one, in which walkers begin and begin anew.

    Raises:
        TypeError: no tensor.
        ValueError: another number of cells, or a pit where walkers begin.
    """

    pits: Bool[Tensor, "..."] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape("pits", self.pits, len(self.grid))
        if bool(self.pits[0]):
            raise ValueError("`pits` should leave the first cell out: walkers begin there. Found a pit in it. Set it to False.")

    def step(self, state: Watching, actions: Int[Tensor, " n"], generator: Generator) -> Watching:
        """Move, or press; a step into a pit leads to the first cell."""
        after = super().step(state, actions, generator)
        return after._replace(cells=after.cells.masked_fill(self.pits[after.cells], 0))

    def fallen(self, cells: Int[Tensor, "..."], actions: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
        """Return which of these actions in these cells lead into a pit."""
        return (actions != PRESS) & self.pits[self.grid.next[cells, actions.clamp(max=PRESS - 1)]]


def with_pits(grid: Grid, share: float, generator: Generator) -> tuple[Grid, Bool[Tensor, " S"]]:
    """Return the grid with some of the walls beside its ways opened, and which cells these are; the outer wall stays.

    >>> from mechlearn_zoo.tasks.finite.grids import Grid
    >>> rows = torch.tensor([[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    >>> opened, pits = with_pits(Grid(rows.bool()), 1.0, torch.Generator().manual_seed(0))
    >>> opened.cells[pits].tolist()
    [[1, 2], [2, 2]]

    Args:
        grid: its first cell keeps its place in the order: no wall before it is opened.
        share: of those walls, each drawn by itself.
        generator: of the draw.
    """
    check_share("share", share)
    check_generator("generator", generator)
    beside = torch.zeros_like(grid.free)
    beside[1:-1, 1:-1] = grid.free[:-2, 1:-1] | grid.free[2:, 1:-1] | grid.free[1:-1, :-2] | grid.free[1:-1, 2:]
    drawn = beside & ~grid.free & (torch.rand(grid.free.shape, generator=generator) < share)
    row, column = grid.cells[0].tolist()
    drawn[:row] = False
    drawn[row, :column] = False
    opened = Grid(grid.free | drawn, grid.stay)
    return opened, drawn[opened.free]
