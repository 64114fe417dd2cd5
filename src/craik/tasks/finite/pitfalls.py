"""A maze with pits in its dead ends: who steps into one is back where episodes begin, and nothing says that anything ended."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from craik.arguments import check_shape
from craik.tasks.finite.grids import Grid
from craik.tasks.finite.television import PRESS, Television, Watching


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


def dead_ends(grid: Grid) -> Bool[Tensor, " S"]:
    """Return which cells but the first have a single way out.

    >>> from craik.tasks.finite.grids import open_grid
    >>> dead_ends(open_grid(1, 3)).tolist()
    [False, False, True]
    """
    ways = (grid.next[:, :4] != torch.arange(len(grid))[:, None]).sum(1)
    found = ways == 1
    found[0] = False
    return found
