"""Cells on a grid, walls between them, and the decision processes of walking there.

Index conventions: a cell has a row and a column, a state is the number of a free cell in reading order, s; actions are the
moves of `MOVES`, and staying as the fifth where a grid has it. A move into a wall or off the grid stays where it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mechlearn.arguments import check_flag, check_mask, check_share, check_whole
from mechlearn_zoo.finite import FiniteMDP

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
"""Up, down, left, right, staying: rows and columns."""

Cell = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Free cells and how one walks between them.

    >>> grid = open_grid(2, 3)
    >>> grid.state((1, 0)), grid.next[0].tolist()
    (3, [0, 3, 0, 1])

    Args:
        free: (h, w) True where one can stand; at least one cell.
        stay: whether staying is a fifth action.

    Raises:
        TypeError: no tensor of booleans, or ``stay`` no flag.
        ValueError: another shape, or no free cell.
    """

    free: Bool[Tensor, "..."]
    stay: bool = False

    def __post_init__(self) -> None:
        # Whole numbers would be taken for places, not for a mask, and one could walk through walls.
        check_mask("free", self.free, "h", "w", way_out="True where one can stand; convert 0 and 1 with .bool().")
        check_flag("stay", self.stay)
        if not bool(self.free.any()):
            raise ValueError("`free` should have a cell to stand on. Found walls only. Set one to True.")

    def __len__(self) -> int:
        """Return S, the number of free cells."""
        return len(self.cells)

    @cached_property
    def cells(self) -> Int[Tensor, "S 2"]:
        """Return each state's row and column."""
        return self.free.nonzero()

    @cached_property
    def index(self) -> Int[Tensor, "h w"]:
        """Return each cell's state, -1 at walls."""
        found = torch.full(self.free.shape, -1)
        found[self.free] = torch.arange(len(self.cells))
        return found

    @cached_property
    def next(self) -> Int[Tensor, "S A"]:
        """Return where each move leads."""
        moves = torch.tensor(MOVES if self.stay else MOVES[:4])
        padded = torch.nn.functional.pad(self.index, (1, 1, 1, 1), value=-1)
        rows, columns = (self.cells[:, None] + moves + 1).unbind(-1)
        found = padded[rows, columns]
        return torch.where(found >= 0, found, torch.arange(len(self.cells))[:, None])

    @cached_property
    def distances(self) -> Int[Tensor, "S S"]:
        """Return the number of moves from each state to each, -1 where there is no way."""
        reached = torch.eye(len(self), dtype=torch.bool)
        found = torch.where(reached, 0, -1)
        for steps in range(1, len(self)):
            around = reached[:, self.next].any(-1)  # symmetric: a move can be taken back
            found[around & ~reached] = steps
            if torch.equal(around | reached, reached):
                break
            reached = around | reached
        return found

    def state(self, cell: Cell) -> int:
        """Return a cell's state.

        Raises:
            ValueError: a wall, or off the grid.
        """
        row, column = cell
        height, width = self.free.shape
        if not (0 <= row < height and 0 <= column < width and bool(self.free[row, column])):
            raise ValueError(f"A cell should be a free one of this {height} x {width} grid. Found {cell}.")
        return int(self.index[row, column])

    def transitions(self, slip: float = 0.0) -> Float[Tensor, "S A S"]:
        """Return P[s, a, t], float64.

        Args:
            slip: the probability that another action, drawn evenly from all, is taken instead.
        """
        check_share("slip", slip)
        sure = torch.nn.functional.one_hot(self.next, len(self)).double()
        return (1 - slip) * sure + slip * sure.mean(1, keepdim=True)

    def mdp(self, goals: Mapping[Cell, float], start: Cell, discount: float, slip: float = 0.0) -> FiniteMDP:
        """Return the process in which arriving at a goal pays its reward and ends the episode.

        Args:
            goals: rewards by cell.
            start: where an episode begins.
            discount: gamma.
            slip: see `transitions`.
        """
        transitions = self.transitions(slip)
        pays = torch.zeros(len(self), dtype=torch.float64)
        for cell, reward in goals.items():
            pays[self.state(cell)] = reward
        rewards = transitions @ pays
        transitions[:, :, [self.state(cell) for cell in goals]] = 0
        begin = torch.zeros(len(self), dtype=torch.float64)
        begin[self.state(start)] = 1
        return FiniteMDP(transitions, rewards, begin, discount)

    def picture(self, values: Float[Tensor, " S"]) -> Float[Tensor, "h w"]:
        """Return numbers of states as a map, NaN at walls."""
        found = torch.full(self.free.shape, torch.nan, dtype=torch.float64)
        found[self.free] = values.double()
        return found


def open_grid(height: int, width: int, stay: bool = False) -> Grid:
    """Return a grid without walls."""
    check_whole("height", height, 1)
    check_whole("width", width, 1)
    return Grid(torch.ones(height, width, dtype=torch.bool), stay)


def drawn_grid(lines: Sequence[str], stay: bool = False) -> Grid:
    """Return a grid from a drawing, "#" for walls and anything else for free cells.

    >>> len(drawn_grid(["..#", ".##"]))
    3

    Raises:
        ValueError: lines of different lengths, or none.
    """
    if not lines or len({len(line) for line in lines}) != 1:
        raise ValueError(f"A drawing should have lines of one length. Found the lengths {[len(line) for line in lines]}.")
    return Grid(torch.tensor([[mark != "#" for mark in line] for line in lines]), stay)


def two_rooms(size: int = 8, door: int | None = None) -> Grid:
    """Return two rooms side by side with one door, a wall around them: the world of CRAR's figure, walls included in the size.

    Args:
        size: of each side, at least 5.
        door: the door's row, in the middle if None.
    """
    check_whole("size", size, 5)
    free = torch.zeros(size, size, dtype=torch.bool)
    free[1:-1, 1:-1] = True
    free[:, size // 2] = False
    row = size // 2 if door is None else door
    if not 0 < row < size - 1:
        raise ValueError(f"`door` should be a row from 1 to {size - 2}, inside the wall. Found {row}.")
    free[row, size // 2] = True
    return Grid(free)
